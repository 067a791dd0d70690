// Keys by prefix, and the value of the one that is chosen.
import { ask, bytesText, countText, firstBytes } from './api.js';

const PAGE = 50;
const SHOWN_BYTES = 64 * 1024;
const get = (id) => document.getElementById(id);

let question = null;
let shown = null;
// Answers of earlier clicks are dropped: each counts only as long as no other one was made.
let loads = 0;
let shows = 0;

function base(keyspace) {
  return keyspace === '' ? '/v1' : '/v1/keyspaces/' + encodeURIComponent(keyspace);
}

function fromHex(digits) {
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

// The bytes of a key, from text or hexadecimal digits, in base64url.
function encoded(entry) {
  return base64(entry.keyHex ? fromHex(entry.keyHex) : new TextEncoder().encode(entry.key));
}

function base64(bytes) {
  let binary = '';
  bytes.forEach((byte) => (binary += String.fromCharCode(byte)));
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

// As keys are shown: text, or digits behind 0x where it is none or begins like that itself.
function prefixOf(text) {
  if (!text.startsWith('0x')) {
    return { prefix: text };
  }
  const digits = text.slice(2);
  return /^([0-9a-f]{2})*$/i.test(digits) ? { prefix64: base64(fromHex(digits)) } : null;
}

function keysText(count) {
  return count === 1 ? '1 key' : countText(count) + ' keys';
}

async function load(isFirst) {
  const turn = ++loads;
  const rows = get('keys').tBodies[0];
  const prefix = prefixOf(question.prefix);
  if (prefix === null) {
    rows.replaceChildren();
    get('browse-note').textContent = 'Behind 0x come pairs of hexadecimal digits.';
    get('more').hidden = true;
    return;
  }
  const query = new URLSearchParams({ ...prefix, limit: PAGE, keysOnly: true, reverse: question.reverse });
  if (!isFirst) {
    query.set('cursor', question.cursor);
  }
  try {
    const text = await (await ask(`${base(question.keyspace)}/scan?${query}`)).text();
    if (turn !== loads) {
      return;
    }
    if (isFirst) {
      rows.replaceChildren();
    }
    question.cursor = null;
    for (const line of text.split('\n').filter((any) => any !== '')) {
      const entry = JSON.parse(line);
      if (entry.cursor) {
        question.cursor = entry.cursor;
      } else {
        rows.append(row(entry));
      }
    }
    const count = rows.children.length;
    get('browse-note').textContent = count === 0 ? 'No such keys.' : `${keysText(count)}${question.cursor ? ', and there are more' : ''}`;
  } catch (error) {
    if (turn !== loads) {
      return;
    }
    get('browse-note').textContent = error.message;
  }
  get('more').hidden = !question.cursor;
}

function row(entry) {
  const made = document.createElement('tr');
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'key';
  button.textContent = entry.key;
  const key = document.createElement('td');
  key.append(button);
  const length = document.createElement('td');
  length.textContent = countText(entry.valueLength);
  const ends = document.createElement('td');
  ends.textContent = entry.expiresAtMillis ? new Date(entry.expiresAtMillis).toLocaleString() : '';
  made.append(key, length, ends);
  made.addEventListener('click', () => show(entry, made));
  return made;
}

async function show(entry, made) {
  const turn = ++shows;
  document.querySelectorAll('#keys .chosen').forEach((other) => other.classList.remove('chosen'));
  made.classList.add('chosen');
  get('value-card').hidden = false;
  get('value-key').textContent = entry.key;
  try {
    const response = await ask(`${base(question.keyspace)}/keys64/${encoded(entry)}`);
    const length = Number(response.headers.get('content-length'));
    const bytes = await firstBytes(response, SHOWN_BYTES);
    if (turn !== shows) {
      return;
    }
    shown = bytes;
    const version = response.headers.get('etag').slice(1).split('-')[0];
    get('value-note').textContent =
      `${bytesText(length)}, version ${version}` +
      (bytes.length < length ? `; the first ${bytesText(bytes.length)}` : '');
    const isText = isReadable(bytes, bytes.length < length);
    document.querySelector(`input[name=form][value=${isText ? 'text' : 'hex'}]`).checked = true;
  } catch (error) {
    if (turn !== shows) {
      return;
    }
    shown = null;
    get('value-note').textContent = error.message;
  }
  draw();
}

// A cut in the middle of a character is no reason to call it binary.
function isReadable(bytes, isCut) {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: isCut });
    return !/[\u0000-\u0008\u000e-\u001f]/.test(text);
  } catch {
    return false;
  }
}

function draw() {
  const form = document.querySelector('input[name=form]:checked').value;
  get('value').className = form;
  get('value').textContent = shown === null ? '' : form === 'hex' ? hex(shown) : new TextDecoder().decode(shown);
}

function hex(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const part = [...bytes.subarray(at, at + 16)];
    const digits = part.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const text = part.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '.')).join('');
    lines.push(at.toString(16).padStart(8, '0') + '  ' + digits.padEnd(48) + ' ' + text);
  }
  return lines.join('\n');
}

export function startBrowsing() {
  get('browse').addEventListener('submit', (event) => {
    event.preventDefault();
    question = { keyspace: get('keyspace').value, prefix: get('prefix').value, reverse: get('reverse').checked, cursor: null };
    load(true);
  });
  get('more').addEventListener('click', () => load(false));
  document.querySelectorAll('input[name=form]').forEach((choice) => choice.addEventListener('change', draw));
}

export function showEntries() {
  get('browse').requestSubmit();
}

export function offerKeyspaces(names) {
  const select = get('keyspace');
  const known = [...select.options].slice(1).map((option) => option.value);
  if (JSON.stringify(known) !== JSON.stringify(names)) {
    const chosen = select.value;
    select.replaceChildren(select.options[0], ...names.map((name) => new Option(name, name)));
    select.value = names.includes(chosen) ? chosen : '';
  }
}
