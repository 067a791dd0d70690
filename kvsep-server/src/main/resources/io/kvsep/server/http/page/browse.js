// Keys by prefix, and the value of the one that is chosen.
import { ask, bytesText, countText, firstBytes } from './api.js';

const PAGE = 50;
const SHOWN_BYTES = 64 * 1024;
const get = (id) => document.getElementById(id);

let question = null;
let shown = null;

function base(keyspace) {
  return keyspace === '' ? '/v1' : '/v1/keyspaces/' + encodeURIComponent(keyspace);
}

// The bytes of a key, from text or hexadecimal digits, in base64url.
function encoded(entry) {
  const bytes = entry.keyHex
    ? Uint8Array.from(entry.keyHex.match(/../g), (pair) => parseInt(pair, 16))
    : new TextEncoder().encode(entry.key);
  let binary = '';
  bytes.forEach((byte) => (binary += String.fromCharCode(byte)));
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

async function load(isFirst) {
  const query = new URLSearchParams({ prefix: question.prefix, limit: PAGE, keysOnly: true, reverse: question.reverse });
  if (!isFirst) {
    query.set('cursor', question.cursor);
  }
  const rows = get('keys').tBodies[0];
  try {
    const text = await (await ask(`${base(question.keyspace)}/scan?${query}`)).text();
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
    get('browse-note').textContent = count === 0 ? 'No such keys.' : `${countText(count)} keys${question.cursor ? ', and there are more' : ''}`;
  } catch (error) {
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
  document.querySelectorAll('#keys .chosen').forEach((other) => other.classList.remove('chosen'));
  made.classList.add('chosen');
  get('value-card').hidden = false;
  get('value-key').textContent = entry.key;
  try {
    const response = await ask(`${base(question.keyspace)}/keys64/${encoded(entry)}`);
    const length = Number(response.headers.get('content-length'));
    const bytes = await firstBytes(response, SHOWN_BYTES);
    shown = bytes;
    const version = response.headers.get('etag').slice(1).split('-')[0];
    get('value-note').textContent =
      `${bytesText(length)}, version ${version}` +
      (bytes.length < length ? `; the first ${bytesText(bytes.length)}` : '');
    const isText = isReadable(bytes, bytes.length < length);
    document.querySelector(`input[name=form][value=${isText ? 'text' : 'hex'}]`).checked = true;
  } catch (error) {
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
