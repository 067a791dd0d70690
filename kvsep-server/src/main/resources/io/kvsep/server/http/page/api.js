// Asking the server, with the token when it wants one.
const TOKEN = 'kvsep-token';

export class Refusal extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export function setToken(token) {
  sessionStorage.setItem(TOKEN, token);
}

export async function ask(path, headers = {}) {
  const token = sessionStorage.getItem(TOKEN);
  if (token) {
    headers.Authorization = 'Bearer ' + token;
  }
  const response = await fetch(path, { headers, cache: 'no-store' });
  if (!response.ok) {
    let detail = response.statusText;
    try {
      detail = (await response.json()).detail;
    } catch {
      // Something between the server and us answered; its status has to do.
    }
    throw new Refusal(response.status, detail);
  }
  return response;
}

// At most so many bytes of the answer; the rest is not fetched.
export async function firstBytes(response, max) {
  const reader = response.body.getReader();
  const parts = [];
  let length = 0;
  while (length < max) {
    const { done, value } = await reader.read();
    if (done) {
      break;
    }
    parts.push(value);
    length += value.length;
  }
  reader.cancel();
  const bytes = new Uint8Array(Math.min(length, max));
  let at = 0;
  for (const part of parts) {
    const fitting = part.subarray(0, bytes.length - at);
    bytes.set(fitting, at);
    at += fitting.length;
  }
  return bytes;
}

export function bytesText(bytes) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let unit = 0;
  let amount = bytes;
  while (amount >= 1000 && unit < units.length - 1) {
    amount /= 1000;
    unit++;
  }
  return (unit === 0 || amount >= 100 ? Math.round(amount) : amount.toFixed(1)) + ' ' + units[unit];
}

export function countText(count) {
  return Math.round(count).toLocaleString('en');
}

export function microsText(micros) {
  if (micros >= 1e6) {
    return (micros / 1e6).toFixed(1) + ' s';
  }
  return micros >= 1000 ? (micros / 1000).toFixed(1) + ' ms' : Math.round(micros) + ' µs';
}
