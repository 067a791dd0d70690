// Asks for figures every other second and shows what they are and how they change.
import { ask, bytesText, countText, microsText, setToken } from './api.js';
import { LineChart } from './charts.js';
import { offerKeyspaces, showEntries, startBrowsing } from './browse.js';

const INTERVAL_MILLIS = 2000;
const SPAN_MILLIS = 5 * 60 * 1000;
const READS = ['get', 'getMany', 'scan', 'redis read'];
const WRITES = ['put', 'delete', 'batch', 'transaction', 'increment', 'redis write'];
const get = (id) => document.getElementById(id);

let before = null;
let charts = null;
let hasEntries = false;

function cell(content) {
  const made = document.createElement('td');
  if (content instanceof Node) {
    made.append(content);
  } else {
    made.textContent = content;
  }
  return made;
}

function rows(id, lines) {
  get(id).tBodies[0].replaceChildren(
    ...lines.map((line) => {
      const made = document.createElement('tr');
      made.append(...line.map(cell));
      return made;
    }),
  );
}

// parts: class and share of the whole, from 0 to 1.
function bar(parts) {
  const made = document.createElement('div');
  made.className = 'bar';
  for (const [name, share] of parts) {
    const part = document.createElement('span');
    part.className = name;
    part.style.width = (100 * share).toFixed(2) + '%';
    made.append(part);
  }
  return made;
}

function tiles(stats, rates) {
  const log = stats.logBytes === 0 ? 1 : stats.logLiveBytes / stats.logBytes;
  const problems = Object.values(stats.server.requests).reduce((sum, kind) => sum + kind.problems, 0);
  const redisClients = stats.server.about?.redisClients;
  const figures = [
    ['entries, about', countText(stats.entriesEstimate)],
    ['operations per second', rates ? countText(rates.reads + rates.writes + rates.others) : '–'],
    ['value log', bytesText(stats.logBytes)],
    ['of it live', Math.round(100 * log) + ' %'],
    ['tables', bytesText(stats.tableBytes)],
    ['space amplification', stats.spaceAmplification.toFixed(2)],
    ['write amplification', stats.writeAmplification.toFixed(2)],
    ['open cursors and snapshots', countText(stats.openCursors + stats.openSnapshots)],
    ['connections' + (redisClients === undefined ? '' : ', HTTP and Redis'), countText(stats.server.connections) + (redisClients === undefined ? '' : ' + ' + countText(redisClients))],
    ['answered with an error', countText(problems)],
  ];
  get('tiles').replaceChildren(
    ...figures.map(([name, value]) => {
      const made = document.createElement('div');
      made.className = 'tile';
      const figure = document.createElement('b');
      figure.textContent = value;
      const label = document.createElement('span');
      label.className = 'quiet';
      label.textContent = name;
      made.append(figure, label);
      return made;
    }),
  );
}

// What there was of each kind: requests over HTTP, and commands of Redis clients where they are served.
function kindsOf(stats) {
  const all = { ...stats.server.requests };
  for (const [kind, figures] of Object.entries(stats.server.commands ?? {})) {
    all['redis ' + kind] = figures;
  }
  return all;
}

// How many of each kind there were since the last look, and in which bucket of latency.
function difference(kinds, old, names) {
  const sum = { count: 0, buckets: [] };
  for (const name of names.filter((any) => any in kinds)) {
    const now = kinds[name];
    const then = old[name];
    sum.count += now.count - then.count;
    now.microsBelowPowerOfTwo.forEach((count, i) => {
      sum.buckets[i] = (sum.buckets[i] ?? 0) + count - (then.microsBelowPowerOfTwo[i] ?? 0);
    });
  }
  return sum;
}

// In microseconds; evenly spread within a bucket, whose upper end is a power of two.
function quantile(buckets, share) {
  const total = buckets.reduce((sum, count) => sum + (count ?? 0), 0);
  if (total === 0) {
    return null;
  }
  let left = share * total;
  for (let i = 0; i < buckets.length; i++) {
    const count = buckets[i] ?? 0;
    if (count > 0 && left <= count) {
      const low = i === 0 ? 0 : 2 ** (i - 1);
      return low + (2 ** i - low) * (left / count);
    }
    left -= count;
  }
  return 2 ** (buckets.length - 1);
}

function rate(stats, figure, seconds) {
  return Math.max(0, figure(stats) - figure(before.stats)) / seconds;
}

function drawCharts(stats, now) {
  const seconds = (now - before.at) / 1000;
  const kinds = kindsOf(stats);
  const old = kindsOf(before.stats);
  const others = Object.keys(kinds).filter((name) => !READS.includes(name) && !WRITES.includes(name));
  const reads = difference(kinds, old, READS);
  const writes = difference(kinds, old, WRITES);
  const rates = {
    reads: reads.count / seconds,
    writes: writes.count / seconds,
    others: difference(kinds, old, others).count / seconds,
  };
  charts.operations.add(now, [rates.reads, rates.writes], SPAN_MILLIS);
  charts.latency.add(
    now,
    [quantile(reads.buckets, 0.5), quantile(reads.buckets, 0.99), quantile(writes.buckets, 0.5), quantile(writes.buckets, 0.99)],
    SPAN_MILLIS,
  );
  charts.written.add(
    now,
    [rate(stats, (s) => s.userBytesWritten, seconds), rate(stats, (s) => s.deviceBytesWritten, seconds), rate(stats, (s) => s.reclaim.bytesWritten, seconds)],
    SPAN_MILLIS,
  );
  return rates;
}

function work(stats, now) {
  const seconds = before ? (now - before.at) / 1000 : 0;
  const line = (name, figure, format) => [
    name,
    before ? (rate(stats, figure, seconds) === 0 ? 'idle' : format(rate(stats, figure, seconds)) + '/s') : '–',
    format(figure(stats)),
  ];
  const few = (count) => (count < 10 && count % 1 !== 0 ? count.toFixed(1) : countText(count));
  rows('work', [
    line('commits', (s) => s.commits, few),
    line('syncs of the log', (s) => s.syncs, few),
    line('flushes', (s) => s.flushes, few),
    line('compactions', (s) => s.compactions, few),
    line('reclaim: files rewritten', (s) => s.reclaim.filesRewritten, few),
    line('reclaim: copied', (s) => s.reclaim.bytesRead, bytesText),
    line('writers held back', (s) => s.stalls, few),
    ['could be reclaimed', '', bytesText(stats.reclaim.reclaimableBytes)],
    ['damaged files', '', stats.reclaim.damagedFiles.join(', ') || 'none'],
  ]);
}

function tables(stats) {
  const fullest = Math.max(1, ...stats.levels.map((level) => level.bytes));
  rows('levels', stats.levels.map((level, i) => ['L' + i, countText(level.tables), bytesText(level.bytes), bar([['b0', level.bytes / fullest]])]));
  const memory = Object.entries(stats.memoryBytes).sort((a, b) => b[1] - a[1]);
  const most = Math.max(1, ...memory.map(([, bytes]) => bytes));
  rows('memory', [
    ...memory.map(([purpose, bytes]) => [purpose.replaceAll('_', ' '), bytesText(bytes), bar([['b2', bytes / most]])]),
    ['most at once', bytesText(stats.memoryPeakBytes), ''],
    ['Java heap of the server', bytesText(stats.server.heapBytes), ''],
  ]);
  const longest = Math.max(1, ...stats.segments.map((segment) => segment.bytes));
  get('log-sum').textContent = `${stats.segments.length === 1 ? '1 file' : countText(stats.segments.length) + ' files'}, ${bytesText(stats.logBytes)}`;
  rows('segments', stats.segments.map((segment) => {
    const dead = Math.max(0, segment.bytes - segment.liveBytes);
    const marks = [segment.relocated ? 'relocated' : '', segment.pinned ? 'pinned' : ''].filter((mark) => mark !== '');
    return [
      segment.file, bytesText(segment.bytes), bytesText(segment.liveBytes), bytesText(dead),
      bar([['live', segment.liveBytes / longest], ['dead', dead / longest]]), marks.join(', '),
    ];
  }));
}

// Nothing of it where the server is part of another program, which knows.
function about(stats) {
  const known = stats.server.about;
  get('about').textContent = known
    ? [known.directory, known.version, `durability: ${known.durability}`, known.freeDiskBytes === undefined ? '' : `${bytesText(known.freeDiskBytes)} free`].filter((part) => part !== '').join(' · ')
    : '';
}

function cluster(stats) {
  const known = stats.server.cluster;
  get('cluster').hidden = !known;
  if (!known) {
    return;
  }
  const figure = (value) => (value === null ? '?' : countText(value));
  get('cluster-name').textContent = `${known.cluster}, seen by ${known.node}, ${known.groups.map((group) => `term ${group.term}`).join(', ')}`;
  rows('members', known.groups.flatMap((group) => group.members.map((member) =>
    [known.groups.length > 1 ? `${member.node}, shard ${group.shard}` : member.node, member.address, member.role?.toLowerCase() ?? '?', figure(member.appliedIndex), figure(member.lag)])));
}

function setState(name, text) {
  get('state').className = 'state ' + name;
  get('state').textContent = text;
}

function upText(millis) {
  const minutes = Math.floor(millis / 60000);
  return minutes < 60 ? `up ${minutes} min` : `up ${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

async function look() {
  try {
    const stats = await (await ask('/v1/stats')).json();
    const now = performance.now();
    get('token-form').hidden = true;
    get('main').hidden = false;
    if (stats.failed) {
      setState('down', 'a sync has failed: the store only reads');
    } else {
      setState('up', 'up');
    }
    about(stats);
    cluster(stats);
    get('up').textContent = upText(stats.server.upMillis);
    charts ??= {
      operations: new LineChart(get('chart-operations'), ['reads', 'writes'], countText),
      latency: new LineChart(get('chart-latency'), ['reads p50', 'p99', 'writes p50', 'p99'], microsText, true),
      written: new LineChart(get('chart-written'), ['by clients', 'to the device', 'of it by reclaim'], bytesText),
    };
    // A server that was started anew counts from zero.
    if (before && stats.server.upMillis < before.stats.server.upMillis) {
      before = null;
    }
    const rates = before ? drawCharts(stats, now) : null;
    tiles(stats, rates);
    work(stats, now);
    tables(stats);
    offerKeyspaces(stats.keyspaces);
    before = { stats, at: now };
    if (!hasEntries) {
      hasEntries = true;
      showEntries();
    }
    document.body.dataset.ready = rates ? 'rates' : 'figures';
  } catch (error) {
    if (error.status === 401) {
      get('main').hidden = true;
      get('about').textContent = '';
      get('token-form').hidden = false;
      setState('', 'locked');
    } else {
      setState('down', error.status ? error.message : 'no answer');
    }
  }
  setTimeout(look, INTERVAL_MILLIS);
}

get('token-form').addEventListener('submit', (event) => {
  event.preventDefault();
  setToken(get('token').value.trim());
  get('token').value = '';
  setState('', 'asking');
});
startBrowsing();
look();
