// Lines over time: the last few minutes, drawn anew with every sample.
const SVG = 'http://www.w3.org/2000/svg';
const WIDTH_MIN = 200;
const HEIGHT = 170;
const LEFT = 62;
const BOTTOM = 18;
const TOP = 8;

function element(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    made.setAttribute(key, value);
  }
  if (text !== undefined) {
    made.textContent = text;
  }
  return made;
}

// A round number at or above the highest value.
function ceiling(highest) {
  const power = 10 ** Math.floor(Math.log10(Math.max(highest, 1)));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= highest) ?? highest;
}

export class LineChart {
  // isLog: steps by powers of ten, for what differs by orders of magnitude.
  constructor(parent, names, format, isLog = false) {
    this.isLog = isLog;
    this.names = names;
    this.format = format;
    this.samples = [];
    this.legend = document.createElement('p');
    this.legend.className = 'legend';
    this.svg = element('svg', { role: 'img' });
    parent.replaceChildren(this.legend, this.svg);
    // Drawn as wide as there is room, since text is not to be squeezed.
    new ResizeObserver(() => this.samples.length > 0 && this.draw()).observe(parent);
  }

  // values: one number, or null for a gap, for each name.
  add(atMillis, values, spanMillis) {
    this.samples.push({ atMillis, values });
    this.samples = this.samples.filter((sample) => atMillis - sample.atMillis <= spanMillis);
    const age = atMillis - this.samples[0].atMillis;
    this.now = atMillis;
    this.span = Math.min(spanMillis, Math.max(60000, 60000 * Math.ceil(age / 60000)));
    this.draw();
  }

  draw() {
    const { now, span } = this;
    const width = Math.max(WIDTH_MIN, this.svg.clientWidth);
    const highest = Math.max(0, ...this.samples.flatMap((sample) => sample.values.map((value) => value ?? 0)));
    const top = this.isLog ? 10 ** Math.max(2, Math.ceil(Math.log10(Math.max(highest, 1)))) : ceiling(Math.max(2, highest));
    const x = (at) => width - ((now - at) / span) * (width - LEFT);
    const share = (value) => (this.isLog ? Math.log10(Math.max(value, 1)) / Math.log10(top) : value / top);
    const y = (value) => HEIGHT - BOTTOM - share(value) * (HEIGHT - BOTTOM - TOP);
    const steps = this.isLog ? Array.from({ length: Math.log10(top) + 1 }, (any, i) => 10 ** i) : [0, top / 2, top];
    const parts = [];
    for (const step of steps) {
      const height = y(step);
      parts.push(element('line', { class: 'axis', x1: LEFT, x2: width, y1: height, y2: height }));
      parts.push(element('text', { x: LEFT - 6, y: height + 4, 'text-anchor': 'end' }, this.format(step)));
    }
    parts.push(element('text', { x: LEFT, y: HEIGHT - 3 }, span === 60000 ? '1 minute ago' : `${Math.round(span / 60000)} minutes ago`));
    parts.push(element('text', { x: width, y: HEIGHT - 3, 'text-anchor': 'end' }, 'now'));
    this.names.forEach((name, i) => {
      let run = [];
      const finish = () => {
        if (run.length === 1) {
          run.push(run[0]);
        }
        if (run.length > 0) {
          parts.push(element('polyline', { class: 's' + i, points: run.join(' ') }));
        }
        run = [];
      };
      for (const sample of this.samples) {
        const value = sample.values[i];
        if (value === null) {
          finish();
        } else {
          run.push(`${x(sample.atMillis).toFixed(1)},${y(value).toFixed(1)}`);
        }
      }
      finish();
    });
    this.svg.replaceChildren(...parts);
    this.svg.setAttribute('aria-label', this.names.join(', ') + ' over time');
    this.drawLegend();
  }

  drawLegend() {
    const last = this.samples[this.samples.length - 1].values;
    this.legend.replaceChildren(
      ...this.names.map((name, i) => {
        const swatch = document.createElement('span');
        swatch.className = 'swatch b' + i;
        const label = document.createElement('span');
        const value = document.createElement('b');
        value.textContent = last[i] === null ? '–' : this.format(last[i]);
        label.append(swatch, name + ' ', value);
        return label;
      }),
    );
  }
}
