/** A small page around live.js for its tests: fields that take edits as a view of an editor does, and wires that can be cut. */

const sockets = [];
let lossOf = null;

/** A socket that can lose the next answer to a frame of a type, and the connection with it. */
class Wire extends WebSocket {
  constructor(...args) {
    super(...args);
    sockets.push(this);
    this.addEventListener("message", (event) => {
      const frame = JSON.parse(event.data);
      if (frame.type !== "ack" || frame.of !== lossOf) return;
      lossOf = null;
      event.stopImmediatePropagation();
      this.onclose(new Event("close"));
      this.close();
    });
  }
}
window.WebSocket = Wire;

const { Live, applyEdits, transform, compose, diffEdits } = await import("/assets/live.js");

/** What a person sees of a document; it changes by typing and by edits alone. */
class Field {
  constructor(document) {
    this.document = document;
    this.text = document.text;
    this.told = [];
    document.on("edits", ({ edits, reason }) => {
      this.told.push(reason);
      for (const { start, end, text } of [...edits].reverse()) this.#put(start, end, text);
    });
    document.on("problem", (problem) => this.told.push(problem.code));
  }

  #put(start, end, text) {
    if (end > this.text.length) throw new Error(`an edit of ${start} to ${end} in ${this.text.length}`);
    this.text = this.text.slice(0, start) + text + this.text.slice(end);
  }

  type(start, end, text) {
    this.#put(start, end, text);
    this.document.change([{ start, end, text }]);
  }
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(condition, ms = 30_000) {
  const ends = performance.now() + ms;
  while (!condition()) {
    if (performance.now() > ends) throw new Error(`it never came true: ${condition}`);
    await pause(2);
  }
}

/** Numbers that look like chance, and are the same every time. */
function chance(seed) {
  let state = seed * 2654435761 + 1;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 3266489917) >>> 0;
    return (state >>> 8) % below;
  };
}

function cut() {
  for (const socket of sockets.splice(0)) {
    if (socket.readyState > 1) continue;
    socket.onclose?.(new Event("close"));
    socket.close();
  }
}

async function logIn(code) {
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch("/login", { method: "POST", headers, body: JSON.stringify({ code }) });
  localStorage.setItem("filetools-login", (await answer.json()).key);
}

/** Connect as the person who has logged in, or as an agent. */
function connected(options = {}) {
  return new Live({ key: localStorage.getItem("filetools-login"), session: "window-1", ...options });
}

/** Return the text of a document as somebody else gets it. */
async function textOf(path) {
  const other = new Live({ key: null, session: "reader", storage: null });
  try {
    const document = await other.open(path);
    const { text } = document;
    await document.close();
    return text;
  } finally {
    other.close();
  }
}

/** Ask for a tool, as an agent does. */
async function call(tool, input) {
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch(`/v1/tools/${tool}`, { method: "POST", headers, body: JSON.stringify(input) });
  return answer.json();
}

/** Type letters in random places of the first characters of a field, at random moments. */
async function typeLetters(field, letters, random, { most = 12, ms = 4 } = {}) {
  for (const letter of letters) {
    const at = random(Math.min(field.text.length, most) + 1);
    field.type(at, at, letter);
    if (random(3)) await pause(random(ms));
  }
}

const settled = (field, ms) => until(() => !field.document.pending && field.document.live.state === "connected", ms);

const lose = (type) => (lossOf = type);

Object.assign(window, {
  Live, Field, applyEdits, transform, compose, diffEdits, sockets, pause, until, chance, cut, lose, logIn, connected, textOf, call,
  typeLetters, settled,
});
