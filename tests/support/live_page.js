/** A small page around live.js for its tests: fields that take edits as a view of an editor does, and wires that can be cut. */

const sockets = [];
let lossOf = null;
let isAway = false;
let patience = 30_000;

/** A socket that can lose the next answer to a frame of a type, and the connection with it. */
class Wire extends WebSocket {
  constructor(address, names) {
    super(isAway ? address.replace(/:\d+\//, ":9/") : address, names);
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

async function until(condition) {
  const ends = performance.now() + patience;
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

/** End all connections at once, as a cable that is pulled does; with `true` none comes back for now. */
function cut(stays = false) {
  isAway = stays;
  for (const socket of sockets.splice(0)) {
    if (socket.readyState > 1) continue;
    socket.onclose?.(new Event("close"));
    socket.close();
  }
}

function comeBack() {
  isAway = false;
  live.reconnect();
}

async function logIn(code) {
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch("/login", { method: "POST", headers, body: JSON.stringify({ code }) });
  localStorage.setItem("filetools-login", (await answer.json()).key);
}

/** Connect as the person who has logged in, else as an agent. */
function connected(options = {}) {
  const key = localStorage.getItem("filetools-login");
  return new Live({ key, token: key ? null : token, session: "window-1", ...options });
}

/** Do something as another client: an agent, or with a login's key a person. */
async function elsewhere(work, key = null) {
  const wasAway = isAway;
  isAway = false;
  const other = new Live({ key, token: key ? null : token, session: "elsewhere", storage: null });
  isAway = wasAway;
  try {
    await until(() => other.state === "connected");
    return await work(other);
  } finally {
    other.close();
  }
}

/** Return the text of a document as others get it. */
function textOf(path) {
  return elsewhere(async (other) => {
    const document = await other.open(path);
    const { text } = document;
    await document.close();
    return text;
  });
}

/** Close the handle of a document that nobody else has open, while its window is away. */
function closeElsewhere({ path, handle }) {
  const close = async (other) => {
    await other.request("open", { path, handle });
    return other.request("close", { handle });
  };
  return elsewhere(close, localStorage.getItem("filetools-login"));
}

/** Call a tool, as an agent does. */
async function call(tool, input) {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const answer = await fetch(`/v1/tools/${tool}`, { method: "POST", headers, body: JSON.stringify(input) });
  return answer.json();
}

/** Type letters in random places of the first characters of a field, at random moments; what was typed is in localStorage. */
async function typeLetters(field, letters, random, { most = 16, ms = 4, before = () => {}, place = null } = {}) {
  for (const letter of letters) {
    before(random);
    const at = place?.() ?? random(Math.min(field.text.length, most) + 1);
    localStorage.setItem("typed", (localStorage.getItem("typed") ?? "") + letter);
    field.type(at, at, letter);
    if (random(3)) await pause(random(ms));
  }
}

const LETTERS = [..."abcdefghijklmnopqrstuvwxyz"];

/** Let a person type the letters while an agent edits the same line 8 times; return both texts, and what went wrong. */
async function lettersAmidEdits(path, seed) {
  const random = chance(seed);
  const field = new Field(await live.open(path));
  let turn = 0;
  const agent = async () => {
    while (turn < 8) {
      const answer = await call("edit_file", { path, old_string: `${turn}`, new_string: `[${turn}]` });
      if (answer.success) turn += 1;
      else if (answer.error_code !== "CHANGED_MEANWHILE") throw new Error(JSON.stringify(answer));
    }
  };
  const edited = agent();
  // Mostly just where the agent is at work.
  const place = () => (turn < 8 && random(4) ? field.text.indexOf(`${turn}`) + random(2) : null);
  await typeLetters(field, LETTERS, random, { ms: 16, place });
  await edited;
  await settled(field);
  const theirs = await textOf(path);
  await until(() => field.text === theirs).catch(() => {});
  const letters = theirs.replace(/[^a-z]/g, "");
  const isRight = theirs.replace(/[a-z]/g, "") === "[0] [1] [2] [3] [4] [5] [6] [7]\n" && field.text === theirs;
  const isWhole = field.document.text === theirs && [...letters].sort().join("") === LETTERS.join("");
  await field.document.close();
  return isRight && isWhole ? null : { seed, ours: field.text, theirs };
}

const settled = (field) => until(() => !field.document.pending && field.document.live.state === "connected");
const lose = (type) => (lossOf = type);
/** Whether the answer is lost; the page may be connected again by then, so its state does not tell. */
const isLost = () => lossOf === null;
const lessPatient = () => (patience = 3000);

Object.assign(window, {
  Live, Field, applyEdits, transform, compose, diffEdits, sockets, pause, until, chance, cut, comeBack, lose, logIn, connected,
  isLost, elsewhere, textOf, closeElsewhere, call, typeLetters, LETTERS, lettersAmidEdits, settled, lessPatient,
});
