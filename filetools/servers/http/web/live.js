/**
 * The live protocol of filetools, for editors in a browser: documents that people and agents share, events, approvals.
 *
 * Usable alone: it imports nothing and touches no element of the page. Places count UTF-16 units, texts are LF texts, and
 * a list of edits holds {start, end, text} in the text before any of them: in order, not overlapping.
 * What was typed is in the window's storage before it is sent, and stays there until the server has it.
 */

const PROTOCOL = "filetools-live";
const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 5000;
const BEAT_MS = 20_000;
const HALF_PAIR_MS = 1000; // how long half a pair of surrogates waits for its other half
const CLAIM_MS = 3000;
const MOST_UNITS = 600_000; // of one change: six bytes each at worst, in a frame of at most 4 MiB
const MOST_EDITS = 5000; // of one change; the server takes 10,000
const MOST_REFUSALS = 3; // in a row, before the next letter or the next connection tries again
const MOST_STEPS = 500; // of a line-wise diff; what differs more is one edit
const KEPT = "filetools-kept:";
const LOCK = "filetools-live:";

/** Raised when the server refuses what was asked, or the connection is lost before the answer (CONNECTION_LOST). */
export class LiveError extends Error {
  constructor(message, { code = "CONNECTION_LOST", retryable = true, suggestedAction = null, details = {} } = {}) {
    super(message);
    Object.assign(this, { code, retryable, suggestedAction, details });
  }
}

class Emitter {
  #listeners = new Map();

  /** Listen; returns a function that ends it. */
  on(name, listener) {
    const heard = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, heard.add(listener));
    return () => heard.delete(listener);
  }

  emit(name, value) {
    for (const listener of [...(this.#listeners.get(name) ?? [])]) {
      try {
        listener(value);
      } catch (error) {
        console.error(error); // it must not keep the others, or the protocol, from going on
      }
    }
  }
}

/**
 * One connection, which comes back whenever it is lost; lives as long as the page, or until `close`.
 * Tells "state" (its `state`), "snapshot" (`welcome`: anything may have changed), "event" (a frame), "approval",
 * "progress", and "look-again" (changes of files may have been missed).
 */
export class Live extends Emitter {
  state = "connecting"; // "connected", "waiting" (tries again at `retryAt`), "logged-out" (until `login`), "closed"
  retryAt = null; // ms since the epoch
  welcome = null;
  documents = new Map(); // by path
  load = crypto.randomUUID(); // names this load of the page
  #socket = null;
  #answers = new Map();
  #count = 0;
  #position = null;
  #wait = FIRST_WAIT_MS;
  #timer = null;
  #isQuiet = false;
  #release = null;
  #online = () => this.reconnect();
  #beat = setInterval(() => this.#listen(), BEAT_MS);

  /**
   * @param {string} address The server's, such as "http://127.0.0.1:8765".
   * @param {?string} key What a login gave, which makes the client a person; the cookie goes along by itself.
   * @param {?string} token For servers that ask for one.
   * @param {?string} session Names this window.
   * @param {?Storage} storage Keeps what is not acknowledged; without it a reload loses that.
   */
  constructor({ address = location.origin, key = null, token = null, session = null, storage = sessionStorage } = {}) {
    super();
    Object.assign(this, { address, key, token, session, storage });
    const isOver = new Promise((resolve) => (this.#release = resolve));
    globalThis.navigator?.locks?.request(LOCK + this.load, () => isOver);
    globalThis.addEventListener?.("online", this.#online);
    this.#connect();
  }

  /** Go on with another login. */
  login(key) {
    this.key = key;
    this.reconnect();
  }

  /** Connect again now. */
  reconnect() {
    if (this.state !== "closed") this.#connect();
  }

  /** Open a document, once a path; with text that this window kept it resolves without a server, too. */
  open(path) {
    const document = this.documents.get(path) ?? new LiveDocument(this, path);
    this.documents.set(document.path, document);
    return document.opened;
  }

  /** Return what former loads of this window left unacknowledged: [{path, buffer_version, document}, …]. */
  kept() {
    const names = Object.keys(this.storage ?? {}).filter((name) => name.startsWith(KEPT));
    const entries = names.map((name) => readKept(this.storage, name.slice(KEPT.length)));
    return entries.filter((entry) => entry && entry.load !== this.load);
  }

  /** Send a frame and return its ack; rejects with LiveError. Nothing is sent again by itself. */
  request(type, fields = {}) {
    if (this.state !== "connected" && type !== "hello") return Promise.reject(lost());
    return new Promise((resolve, reject) => {
      const id = ++this.#count;
      this.#answers.set(id, { resolve, reject });
      this.#socket.send(JSON.stringify({ type, id, ...fields }));
    });
  }

  /** Answer an approval, as a person. */
  answer(approvalId, answer, editedText) {
    return this.request("answer", { approval_id: approvalId, answer, edited_text: editedText });
  }

  /** Stop a call. */
  abort(callId) {
    return this.request("abort", { call: callId });
  }

  /** End the connection for good. What is not acknowledged stays in the storage. */
  close() {
    clearInterval(this.#beat);
    globalThis.removeEventListener?.("online", this.#online);
    this.#hangUp();
    this.#enter("closed");
    this.#release();
  }

  #connect() {
    this.#hangUp();
    this.#enter("connecting");
    const names = [PROTOCOL];
    if (this.key) names.push(`filetools-login.${this.key}`);
    if (this.token) names.push(`filetools-token.${this.token}`);
    const socket = new WebSocket(`${this.address.replace(/^http/, "ws")}/v1/live`, names);
    const ours = (work) => (event) => this.#socket === socket && work(event);
    this.#socket = socket;
    socket.onopen = ours(() => this.#greet());
    socket.onmessage = ours((event) => this.#take(JSON.parse(event.data)));
    socket.onclose = ours(() => this.#retry());
  }

  #greet() {
    const hello = { since: this.#position ?? undefined, session: this.session ?? undefined };
    this.request("hello", hello).then(
      (welcome) => this.#begin(welcome, hello.since === undefined && this.welcome !== null),
      (error) => {
        if (error.code === "CONNECTION_LOST") return;
        this.#position = null; // the journal is another one than that of our position
        this.#socket.close();
      },
    );
  }

  #begin(welcome, isGap) {
    this.#wait = FIRST_WAIT_MS;
    this.#position = welcome.position;
    this.welcome = welcome;
    this.#enter("connected");
    this.emit("snapshot", welcome);
    if (isGap) this.emit("look-again", welcome);
    for (const document of [...this.documents.values()]) document.resume();
  }

  #hangUp() {
    clearTimeout(this.#timer);
    const socket = this.#socket;
    this.#socket = this.retryAt = null;
    socket?.close();
    for (const { reject } of this.#answers.values()) reject(lost());
    this.#answers.clear();
    for (const document of [...this.documents.values()]) document.pause();
  }

  async #retry() {
    this.#hangUp();
    const wait = this.#wait * (0.75 + Math.random() / 2);
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT_MS);
    const timer = setTimeout(() => this.#connect(), wait);
    [this.#timer, this.retryAt] = [timer, Date.now() + wait];
    this.#enter("waiting");
    if ((await this.#isLoginOver()) && this.#timer === timer && this.state !== "connected") {
      this.#hangUp();
      this.#enter("logged-out");
    }
  }

  /** Whether the server refuses the login: a socket that is refused does not tell why. */
  async #isLoginOver() {
    const headers = this.key ? { "Filetools-Login": this.key } : { Authorization: `Bearer ${this.token}` };
    if (!this.key && !this.token) return false;
    const asked = fetch(`${this.address}/v1/status`, { headers, credentials: "include", cache: "no-store" });
    return asked.then((answer) => answer.status === 401, () => false);
  }

  #listen() {
    if (this.state !== "connected") return;
    if (this.#isQuiet) return this.reconnect(); // not even the last ping was answered
    this.#isQuiet = true;
    this.request("ping").catch(() => {});
  }

  #enter(state) {
    if (this.state === state) return;
    this.state = state;
    this.emit("state", state);
  }

  #take(frame) {
    this.#isQuiet = false;
    if (frame.position) this.#position = frame.position;
    const answer = this.#answers.get(frame.id);
    if (answer) {
      this.#answers.delete(frame.id);
      if (frame.type === "error") answer.reject(errorOf(frame));
      else answer.resolve(frame); // whoever waits goes on before the next frame is taken
    } else if (["approval", "progress"].includes(frame.type)) this.emit(frame.type, frame);
    else if (frame.type === "event") {
      for (const document of [...this.documents.values()]) document.hear(frame);
      this.emit("event", frame);
    } else if (frame.handle) [...this.documents.values()].find((each) => each.handle === frame.handle)?.take(frame);
    else if (frame.type === "resync") {
      if (frame.snapshot) this.emit("snapshot", Object.assign(this.welcome, frame.snapshot));
      if (frame.position) this.emit("look-again", frame);
    }
  }
}

/**
 * One open document; lives until it is closed. Tells "edits" {edits, actor, reason}: what others did, to be put into the
 * view at once; "state"; "problem" (LiveError: a change was refused, or cannot be kept); and "closed".
 */
export class LiveDocument extends Emitter {
  handle = null;
  text = "";
  bufferVersion = null;
  version = null; // of the file's content
  behind = false; // whether the file has changed in a way that could not be merged in
  deleted = false; // whether there is no file
  isKept = true; // false: the storage is full, and a reload would lose what is pending
  #base = ""; // the server's text at `bufferVersion`
  #back = null; // edits of it that give the text without what is unsaved; null: not known
  #queue = []; // named changes {id, edits, tries}, each made on what the one before leaves; the first may be on its way
  #unsent = []; // what was typed since
  #sent = null; // the change whose answer is awaited
  #document = null; // the server's name of it; one that is opened anew has another
  #isDirty = false;
  #isReady = false;
  #isClaimed = false;
  #awaitsText = false;
  #refusals = 0;
  #timer = null;
  #waiting = [];
  #settle;

  constructor(live, path) {
    super();
    Object.assign(this, { live, path });
    this.opened = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
    this.#claim(readKept(live.storage, path));
  }

  /** Whether anything that was typed is not acknowledged. */
  get pending() {
    return this.#queue.length + this.#unsent.length > 0;
  }

  get dirty() {
    return this.#isDirty || this.pending;
  }

  /** Names of those who have it open, as of the last snapshot. */
  get editors() {
    return this.live.welcome?.documents.find((each) => each.path === this.path)?.editors ?? [];
  }

  /** Take what the person typed: edits of `text`, in any order. */
  change(edits) {
    const made = edits.filter((each) => each.end > each.start || each.text);
    made.sort((one, other) => one.start - other.start || one.end - other.end);
    this.text = applyEdits(this.text, made);
    this.#unsent = compose(this.#unsent, made);
    this.#pump(true);
    this.emit("state", this);
  }

  /** Write the file, once the server has everything; rejects with LiveError, and is never repeated by itself. */
  async save(onConflict = "merge") {
    await this.#settled();
    const saved = await this.live.request("save", { handle: this.handle, on_conflict: onConflict });
    Object.assign(this, { version: saved.version, behind: false, deleted: false });
    this.#isDirty = saved.dirty;
    this.emit("state", this);
    return saved;
  }

  /** Give the document up, once the server has everything; without a connection it rejects if anything is pending. */
  async close() {
    if (this.pending) await this.#settled();
    const isOpen = this.#isReady;
    this.#isReady = false;
    this.live.documents.delete(this.path);
    const closed = isOpen ? await this.live.request("close", { handle: this.handle }) : null;
    this.emit("closed", { kept_version: closed?.kept_version ?? null, reason: "closed" });
    return closed;
  }

  /** Called by Live: the connection is lost. */
  pause() {
    this.#isReady = this.#awaitsText = false;
    this.#sent = null;
    this.#refusals = 0;
    this.#finish(lost());
  }

  /** Called by Live: there is a connection, on which to open the document, or to go on with it. */
  resume() {
    if (!this.#isClaimed) return;
    this.#isReady = false;
    const known = { handle: this.handle ?? undefined, buffer_version: this.bufferVersion ?? undefined };
    this.live.request("open", { path: this.path, ...(known.handle ? known : {}) }).then(
      (opened) => this.live.documents.get(this.path) === this && this.#begin(opened),
      (error) => error.code === "CONNECTION_LOST" || this.#fail(error),
    );
  }

  /** Called by Live: a frame about this document. */
  take(frame) {
    if (frame.type === "resync") this.#replace(frame.document);
    else if (frame.type !== "edits" || !this.#isReady || this.#sent || this.bufferVersion === null) return;
    else if (frame.since > this.bufferVersion) this.resume();
    else if (frame.since === this.bufferVersion) this.#others(frame.edits, frame);
  }

  /** Called by Live: something happened, perhaps to this document or its file. */
  hear({ event, path, document, file_version: saved }) {
    const isOurs = document !== undefined && document === this.#document;
    if (isOurs && event === "buffer:moved") this.#rename(path);
    else if (isOurs && event === "buffer:behind") this.behind = true;
    else if (isOurs && event === "buffer:saved") [this.version, this.behind] = [saved, false];
    else if (path === this.path && /^file:(created|modified|deleted)$/.test(event)) {
      this.deleted = event === "file:deleted";
    } else return;
    this.emit("state", this);
  }

  /** Go on with what a former load kept; a copy, which a duplicated tab has, is left to the tab that it is of. */
  async #claim(kept) {
    if (kept && (await isOver(kept.load))) {
      Object.assign(this, { handle: kept.handle, bufferVersion: kept.buffer_version });
      [this.#document, this.#base, this.#back] = [kept.document, kept.base, kept.back];
      [this.#queue, this.#unsent] = [kept.queue, kept.unsent];
      this.#isDirty = true;
      this.text = applyEdits([...this.#queue.map((each) => each.edits)].reduce(applyEdits, this.#base), this.#unsent);
      this.#settle.resolve(this);
    }
    this.#isClaimed = true;
    this.#keep();
    if (this.live.state === "connected") this.resume();
  }

  #begin(opened) {
    if (opened.path !== this.path) this.#rename(opened.path);
    this.handle = opened.handle;
    this.#isReady = true;
    if (!opened.resumed) this.#replace(opened);
    else this.#isDirty = opened.dirty;
    this.#pump();
    this.#settle.resolve(this);
    this.emit("state", this);
  }

  #fail(error) {
    if (this.#document === null) this.live.documents.delete(this.path);
    this.#settle.reject(error);
    this.#finish(error);
    this.emit("problem", error);
  }

  /** Take a whole text of the server's. A change that is on its way, or may be in it, is asked for first, by its name. */
  #replace(fresh) {
    const isKnown = fresh.document === this.#document && this.bufferVersion !== null && this.#queue[0]?.tries > 0;
    if (isKnown && fresh.buffer_version >= this.bufferVersion) {
      this.#awaitsText = fresh.buffer_version > this.bufferVersion; // then its answer is followed by another whole text
    } else {
      this.#adopt(fresh);
      this.#pump();
    }
  }

  /** Carry what is not in a whole text onto it, and show it by small edits. */
  #adopt(fresh) {
    const before = this.text;
    const isSame = fresh.document === this.#document;
    const clean = this.#back && applyEdits(this.#base, this.#back);
    const from = this.#document === null ? before : this.#ancestor(fresh, isSame, clean);
    // Where the text before was not in the file and is not known, nothing of either is taken away.
    const mine = from === null ? onlyNew(diffEdits(fresh.text, before)) : diffEdits(from, before);
    const theirs = from === null ? [] : diffEdits(from, fresh.text);
    this.#back = !fresh.dirty ? [] : isSame && clean !== null ? diffEdits(fresh.text, clean) : null;
    this.#base = fresh.text;
    this.#queue = [];
    this.#unsent = transform(mine, theirs, false);
    this.text = applyEdits(this.#base, this.#unsent);
    [this.#document, this.bufferVersion, this.#isDirty] = [fresh.document, fresh.buffer_version, fresh.dirty];
    const { version, behind, encoding, newline, bom } = fresh;
    Object.assign(this, { version, behind, encoding, newline, bom, deleted: fresh.disk_version === undefined });
    const edits = diffEdits(before, this.text);
    if (edits.length) this.emit("edits", { edits, actor: null, reason: "resync" });
  }

  /** Return which of the texts that we know a whole text goes back to: the one that differs least from it. */
  #ancestor(fresh, isSame, clean) {
    if (!isSame && this.#isDirty && fresh.text === "" && fresh.disk_version === undefined) return "";
    if (!isSame && this.#isDirty && clean === null) return null;
    const known = [this.#base];
    if (!isSame && this.#isDirty) known.push(clean);
    if (this.#queue[0]?.tries > 1) known.push(applyEdits(this.#base, this.#queue[0].edits));
    const weights = known.map((text) => weightOf(diffEdits(text, fresh.text)));
    return known[weights.indexOf(Math.min(...weights))];
  }

  /** Take edits of the server's text, under what was typed: at one place theirs comes first. */
  #others(edits, { buffer_version: version, dirty, actor = null, reason = "crossed" }) {
    let theirs = edits;
    for (const change of this.#queue) {
      const crossed = transform(change.edits, theirs, false);
      [theirs, change.edits] = [transform(theirs, change.edits, true), crossed];
    }
    const shown = transform(theirs, this.#unsent, true);
    this.#unsent = transform(this.#unsent, theirs, false);
    this.#advance(edits);
    this.text = applyEdits(this.text, shown);
    [this.bufferVersion, this.#isDirty] = [version, dirty];
    if (!dirty) [this.#back, this.behind] = [[], false];
    this.#keep();
    if (shown.length) this.emit("edits", { edits: shown, actor, reason });
    this.emit("state", this);
  }

  #advance(edits) {
    if (this.#back) this.#back = compose(inverse(this.#base, edits), this.#back);
    this.#base = applyEdits(this.#base, edits);
  }

  /** Keep what is to be sent, then send the next change if none is on its way. */
  #pump(isTyped = false) {
    if (isTyped) this.#refusals = Math.min(this.#refusals, MOST_REFUSALS - 1);
    const isFree = this.#isReady && !this.#sent && this.bufferVersion !== null && this.#refusals < MOST_REFUSALS;
    if (isFree && !this.#queue.length && this.#unsent.length && this.#isWhole()) {
      const parts = portions(aroundPairs(this.#base, compose(this.#unsent, [])));
      this.#queue = parts.map((edits) => ({ id: randomName(), edits, tries: 0 }));
      this.#unsent = [];
    }
    const next = isFree ? this.#queue[0] : undefined;
    if (next) next.tries += 1;
    this.#keep();
    if (next) this.#offer(next);
    else if (isFree && !this.pending) this.#finish(null);
  }

  /** Send a change, for the first time or again: by its name the server makes it once. */
  #offer(change) {
    this.#sent = change;
    const named = { handle: this.handle, buffer_version: this.bufferVersion, change_id: change.id };
    this.live.request("change", { ...named, edits: change.edits }).then(
      (made) => this.#sent === change && this.#acknowledged(change, made),
      (error) => this.#sent === change && this.#refused(error),
    );
  }

  #acknowledged(change, made) {
    this.#sent = null;
    this.#refusals = 0;
    this.#queue.shift();
    this.#advance(change.edits);
    if (this.#awaitsText) this.bufferVersion = null;
    else this.#others(made.edits, { ...made, actor: undefined });
    this.#awaitsText = false;
    this.#pump();
    this.emit("state", this);
  }

  #refused(error) {
    if (error.code === "CONNECTION_LOST") return; // sent again, under its name, by the next connection
    this.#sent = null;
    this.#awaitsText = false;
    this.#refusals += 1;
    if (error.code === "BUFFER_CLOSED") {
      this.handle = null;
      if (this.#refusals < MOST_REFUSALS) return void this.resume();
    } else this.bufferVersion = null; // a whole text follows, and what was typed is sent again on top of it
    if (error.code === "RESYNC") return;
    this.#finish(error);
    this.emit("problem", error);
  }

  /** Whether the text can be sent: half a pair waits for its other half, a CR for us. */
  #isWhole() {
    if (sendable(this.text) === this.text) return true;
    this.#timer ??= setTimeout(() => this.#mend(), this.text.isWellFormed() ? 0 : HALF_PAIR_MS);
    return false;
  }

  #mend() {
    clearTimeout(this.#timer);
    this.#timer = null;
    const edits = diffEdits(this.text, sendable(this.text));
    if (!edits.length) return;
    this.text = applyEdits(this.text, edits);
    this.#unsent = compose(this.#unsent, edits);
    this.emit("edits", { edits, actor: null, reason: "mended" });
    this.#pump();
  }

  async #settled() {
    if (this.live.state !== "connected") throw lost();
    this.#mend();
    this.#pump(true);
    if (!this.pending && this.#isReady) return;
    await new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  #finish(error) {
    for (const { resolve, reject } of this.#waiting.splice(0)) error ? reject(error) : resolve();
  }

  #rename(path) {
    this.live.storage?.removeItem(KEPT + this.path);
    this.live.documents.delete(this.path);
    this.live.documents.set((this.path = path), this);
    this.#keep();
  }

  #keep() {
    const [{ storage, load }, name, wasKept] = [this.live, KEPT + this.path, this.isKept];
    const facts = { load, path: this.path, handle: this.handle, document: this.#document, base: this.#base };
    const typed = { buffer_version: this.bufferVersion, back: this.#back, queue: this.#queue, unsent: this.#unsent };
    try {
      if (this.pending) storage?.setItem(name, JSON.stringify({ ...facts, ...typed }));
      else storage?.removeItem(name);
      this.isKept = true;
    } catch {
      storage.removeItem(name); // an older state would be sent twice
      this.isKept = false;
      const told = "This window's storage is full: what you type is lost if you reload before the server has it.";
      if (wasKept) this.emit("problem", new LiveError(told, { code: "NOT_KEPT" }));
    }
  }
}

const lost = () => new LiveError("There is no connection to the server.");

const randomName = () => Array.from(crypto.getRandomValues(new Uint32Array(4)), (each) => each.toString(36)).join("-");

function errorOf({ error, error_code: code, retryable, suggested_action: suggestedAction, details }) {
  return new LiveError(error, { code, retryable, suggestedAction, details });
}

function readKept(storage, path) {
  try {
    const kept = JSON.parse(storage?.getItem(KEPT + path) ?? "null");
    return typeof kept?.base === "string" && Array.isArray(kept.queue) ? kept : null;
  } catch {
    return null; // not ours
  }
}

/** Whether a load of the page has ended: as long as it lives it holds a lock. */
function isOver(load) {
  const locks = globalThis.navigator?.locks;
  if (!locks) return true;
  return locks.request(LOCK + load, { signal: AbortSignal.timeout(CLAIM_MS) }, () => true).catch(() => false);
}

const sendable = (text) => text.toWellFormed().replace(/\r\n?/g, "\n");

const isPair = (text, at) => (text.charCodeAt(at - 1) & 0xfc00) === 0xd800 && (text.charCodeAt(at) & 0xfc00) === 0xdc00;

const weightOf = (edits) => edits.reduce((sum, each) => sum + each.end - each.start + each.text.length, 0);

const onlyNew = (edits) => edits.filter((each) => each.text).map(({ end, text }) => ({ start: end, end, text }));

/** Return edits that replace whole pairs of surrogates of a text, where they replaced halves. */
function aroundPairs(text, edits) {
  return edits.map((edit) => {
    const start = edit.start - isPair(text, edit.start);
    const end = edit.end + isPair(text, edit.end);
    return { start, end, text: text.slice(start, edit.start) + edit.text + text.slice(edit.end, end) };
  });
}

/** Return edits as lists that fit into a frame each, to be made one after the other. */
function portions(edits) {
  const parts = [[]];
  let [room, shift, moved] = [MOST_UNITS, 0, 0];
  for (const { start, end, text } of edits) {
    let [from, rest] = [start, text];
    do {
      if (room < 2 || parts.at(-1).length === MOST_EDITS) {
        parts.push([]);
        [room, moved] = [MOST_UNITS, shift];
      }
      const cut = Math.min(rest.length, room) - isPair(rest, Math.min(rest.length, room));
      parts.at(-1).push({ start: from + moved, end: end + moved, text: rest.slice(0, cut) });
      shift += cut - (end - from);
      room -= cut;
      [from, rest] = [end, rest.slice(cut)];
    } while (rest);
  }
  return parts;
}

/** Return a text with edits of it done. */
export function applyEdits(text, edits) {
  const parts = [];
  let at = 0;
  for (const edit of edits) {
    parts.push(text.slice(at, edit.start), edit.text);
    at = edit.end;
  }
  return parts.join("") + text.slice(at);
}

/** Return the edits that take edits of a text back. */
function inverse(text, edits) {
  let shift = 0;
  return edits.map(({ start, end, text: added }) => {
    const back = { start: start + shift, end: start + shift + added.length, text: text.slice(start, end) };
    shift += added.length - (end - start);
    return back;
  });
}

/**
 * Return edits of a text as edits of what other edits of it leave. What either side adds stays.
 * @param {boolean} isFirst Whether the new text of `edits` stands first where both have some at one place.
 */
export function transform(edits, against, isFirst) {
  if (!against.length) return edits;
  const made = [];
  let [next, gone, shift] = [0, 0, 0];
  const place = (at, isBehind) => {
    for (; next < against.length && against[next].start < at + isBehind; next += 1) {
      gone = against[next].end;
      shift += against[next].text.length - (gone - against[next].start);
    }
    return Math.max(at, gone) + shift;
  };
  const add = (start, end, text) => {
    const last = made.at(-1);
    const isJoined = last && start <= last.end && !(text && last.start < last.end);
    if (isJoined) [last.end, last.text] = [end, last.text + text];
    else if (start < end || text) made.push({ start, end, text });
  };
  for (const edit of edits) {
    const at = place(edit.start, !isFirst);
    add(at, at, edit.text);
    // What the others put into the removed text stays, so the removal is cut there.
    for (let { start } = edit; start < edit.end; ) {
      const first = place(start, true);
      start = Math.min(against[next]?.start ?? edit.end, edit.end);
      add(first, place(start, false), "");
    }
  }
  return made;
}

/** Return the edits that do at once what `first` and then `second`, on the text it leaves, do. */
export function compose(first, second) {
  const left = [];
  let at = 0;
  for (const edit of first) {
    left.push({ start: at, end: edit.start }, { start: 0, end: edit.text.length, text: edit.text });
    at = edit.end;
  }
  left.push({ start: at, end: Infinity });
  left.reverse();
  const pieces = [];
  const take = (size, isKept) => {
    for (let rest = size; rest > 0; ) {
      const piece = left.pop();
      const end = Math.min(piece.end, piece.start + rest);
      if (isKept) pieces.push({ ...piece, end });
      if (end < piece.end) left.push({ ...piece, start: end });
      rest -= end - piece.start;
    }
  };
  at = 0;
  for (const edit of second) {
    take(edit.start - at, true);
    take(edit.end - edit.start, false);
    pieces.push({ start: 0, end: edit.text.length, text: edit.text });
    at = edit.end;
  }
  const made = [];
  let [place, added] = [0, ""];
  for (const { start, end, text } of [...pieces, ...left.reverse()]) {
    if (text !== undefined) added += text.slice(start, end);
    else if (start < end) {
      if (start > place || added) made.push({ start: place, end: start, text: added });
      [place, added] = [end, ""];
    }
  }
  return made;
}

/** Return small edits that make one text of another: of the lines that differ, what differs in them. */
export function diffEdits(old, fresh) {
  const [head, tail] = commonEnds(old, fresh);
  const [one, other] = [old.slice(head, old.length - tail), fresh.slice(head, fresh.length - tail)];
  if (!one && !other) return [];
  const [before, after] = [one, other].map((text) => text.match(/[^\n]*\n|[^\n]+$/g) ?? []);
  const made = [];
  let [x, y, at] = [0, 0, head];
  for (const [nextX, nextY, size] of [...commonRuns(before, after), [before.length, after.length, 0]]) {
    const [gone, added] = [before.slice(x, nextX).join(""), after.slice(y, nextY).join("")];
    const [start, end] = commonEnds(gone, added);
    const edit = { start: at + start, end: at + gone.length - end, text: added.slice(start, added.length - end) };
    if (edit.start < edit.end || edit.text) made.push(edit);
    at += gone.length;
    for (let line = nextX; line < nextX + size; line += 1) at += before[line].length;
    [x, y] = [nextX + size, nextY + size];
  }
  return made;
}

/** Return how many units two texts share at their ends; no pair of surrogates is cut. */
function commonEnds(one, other) {
  const most = Math.min(one.length, other.length);
  let [start, end] = [0, 0];
  while (start < most && one.charCodeAt(start) === other.charCodeAt(start)) start += 1;
  while (start > 0 && (isPair(one, start) || isPair(other, start))) start -= 1;
  const isSame = () => one.charCodeAt(one.length - 1 - end) === other.charCodeAt(other.length - 1 - end);
  while (end < most - start && isSame()) end += 1;
  while (end > 0 && (isPair(one, one.length - end) || isPair(other, other.length - end))) end -= 1;
  return [start, end];
}

/** Return the runs of lines that two lists share, [place, place in the other, lines]. Source: Myers (1986). */
function commonRuns(one, other) {
  const ends = new Map([[1, { x: 0, back: null }]]); // by diagonal
  for (let steps = 0; steps <= MOST_STEPS; steps += 1) {
    for (let diagonal = -steps; diagonal <= steps; diagonal += 2) {
      const [above, left] = [ends.get(diagonal + 1), ends.get(diagonal - 1)];
      const isDown = diagonal === -steps || (diagonal < steps && left.x < above.x);
      const from = isDown ? above : left;
      const start = isDown ? above.x : left.x + 1;
      let x = start;
      while (x < one.length && x - diagonal < other.length && one[x] === other[x - diagonal]) x += 1;
      const end = { x, run: x > start ? [start, start - diagonal, x - start] : null, back: from };
      ends.set(diagonal, end);
      if (x < one.length || x - diagonal < other.length) continue;
      const runs = [];
      for (let each = end; each; each = each.back) if (each.run) runs.unshift(each.run);
      return runs;
    }
  }
  return [];
}
