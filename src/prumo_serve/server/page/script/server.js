// What the server is asked, and how often.

// Few at a time: others use the server too, and a phone sends slowly.
const ASKED_AT_ONCE = 3;
const MOST_TRIES = 12;
const LONGEST_PAUSE_SECONDS = 10;
const ANSWER_SECONDS = 90;
const BUSY = new Set([429, 503]);
const REFUSED = new Set([400, 413, 415, 422]);
const MEGABYTE = 1024 * 1024;
// How a JPEG and a PNG begin.
const SIGNATURES = [[0xff, 0xd8, 0xff], [0x89, 0x50, 0x4e, 0x47]];

class Failure extends Error {
  constructor(name, values = {}, { message = "", isRefusal = false } = {}) {
    super(name);
    this.text = () => message || text(name, values);
    this.isRefusal = isRefusal;
  }
}

async function ask(item, options, onBusy) {
  if (item.file.size > data.mostBytes) {
    const most = Math.floor(data.mostBytes / MEGABYTE);
    throw new Failure("too_large", { most }, { isRefusal: true });
  }
  for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
    const response = await send(item, options);
    if (response.ok) return response.json();
    if (!BUSY.has(response.status)) throw await failureOf(response);
    onBusy();
    await pause(Number(response.headers.get("Retry-After")) || 1, tries);
  }
  throw new Failure("overloaded");
}

async function send(item, options) {
  const query = new URLSearchParams({ lang: language, ...options });
  const request = new AbortController();
  let name = "offline";
  const timer = setTimeout(() => {
    name = "late";
    request.abort();
  }, ANSWER_SECONDS * 1000);
  item.requests.add(request);
  try {
    return await fetch(`invocations?${query}`, {
      method: "POST",
      body: item.file,
      headers: { "Content-Type": item.file.type === "image/png" ? "image/png" : "image/jpeg" },
      cache: "no-store",
      signal: request.signal,
    });
  } catch {
    throw new Failure(name);
  } finally {
    clearTimeout(timer);
    item.requests.delete(request);
  }
}

async function failureOf(response) {
  const isRefusal = REFUSED.has(response.status);
  const body = await response.json().catch(() => null);
  const message = isRefusal && body?.error?.message;
  return new Failure("failed", { status: response.status }, { message, isRefusal });
}

function pause(seconds, tries) {
  // Longer each time and never in step with others, so that a busy server gets through.
  const longest = Math.min(seconds * 1.5 ** tries, LONGEST_PAUSE_SECONDS);
  const chosen = Math.max(seconds, longest * (0.5 + Math.random() / 2));
  return new Promise((end) => setTimeout(end, chosen * 1000));
}

function askMore() {
  const asked = items.filter((item) => item.isAsked).length;
  const waiting = items.filter((item) => item.state === "waiting" && !item.isAsked);
  for (const item of waiting.slice(0, ASKED_AT_ONCE - asked)) judge(item);
}

async function judge(item) {
  item.isAsked = true;
  setState(item, "asking");
  const asked = language;
  try {
    item.answer = await ask(item, {}, () => setState(item, "busy"));
    item.state = asked === language ? "answered" : "waiting";
  } catch (error) {
    item.failure = error instanceof Failure ? error : new Failure("offline");
    item.answer = null;
    item.state = item.failure.isRefusal ? await task.refusedState(item.file) : "failed";
  }
  item.isAsked = false;
  if (!items.includes(item)) return;
  show(item);
  sort();
  updateSummary();
  askMore();
}

async function isPhotograph(file) {
  const start = await file.slice(0, 4).arrayBuffer().catch(() => new ArrayBuffer(0));
  const bytes = new Uint8Array(start);
  return SIGNATURES.some((known) => known.every((byte, place) => bytes[place] === byte));
}

function setState(item, state) {
  item.state = state;
  if (items.includes(item)) show(item);
}
