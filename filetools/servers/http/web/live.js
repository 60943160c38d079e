/**
 * The live protocol of filetools, for editors in a browser: documents that people and agents share, events, approvals.
 *
 * Usable alone: it imports nothing and touches no element of the page. Places count UTF-16 units, texts are LF texts, and
 * edits are `{start, end, text}` in the text before any edit of their list: sorted, not overlapping.
 *
 * What was typed is in the window's storage before it is sent, and stays there until the server has it.
 */

const PROTOCOL = "filetools-live";
const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 5000;
const HALF_PAIR_MS = 1000;
const MOST_REFUSALS = 3; // in a row; then the person has to do something
const MOST_UNITS = 600_000; // of one change: six bytes each at worst, in frames of at most 4 MiB
const MOST_EDITS = 5000;
const MOST_STEPS = 1000; // of a line-wise diff; beyond it what differs is one edit
const KEPT = "filetools-kept:";

/** Raised when the server refuses what was asked, or the connection ends before the answer. */
export class LiveError extends Error {
  constructor(message, { code = "CONNECTION_LOST", retryable = false, suggestedAction = null, details = {} } = {}) {
    super(message);
    this.code = code;
    this.retryable = retryable;
    this.suggestedAction = suggestedAction;
    this.details = details;
  }
}

/** Listeners by name; `on` returns a function that ends the listening. */
class Emitter {
  #listeners = new Map();

  on(name, listener) {
    if (!this.#listeners.has(name)) this.#listeners.set(name, new Set());
    this.#listeners.get(name).add(listener);
    return () => this.#listeners.get(name).delete(listener);
  }

  emit(name, value) {
    for (const listener of [...(this.#listeners.get(name) || [])]) {
      try {
        listener(value);
      } catch (error) {
        console.error(error); // a listener that fails must not keep the others, or the protocol, from going on
      }
    }
  }
}

/** One connection that comes back whenever it is lost; lives as long as the page, or until `close`. */
export class Live extends Emitter {
  #socket = null;
  #nextId = 1;
  #answers = new Map();
  #position = null;
  #wait = FIRST_WAIT_MS;
  #timer = null;
  #loops = 0;

  /**
   * @param {string} address The server's, such as "http://127.0.0.1:8765".
   * @param {string|null} key What a login gave; the cookie goes along by itself. Makes the client a person.
   * @param {string|null} token For servers that ask agents for one.
   * @param {string} session Names this window.
   * @param {Storage|null} storage Where unacknowledged text is kept; null keeps it in memory alone.
   */
  constructor({ address = location.origin, key = null, token = null, session = null, storage = sessionStorage } = {}) {
    super();
    Object.assign(this, { address, key, token, session, storage });
    this.state = "connecting";
    this.retryAt = null;
    this.welcome = null;
    /** Open documents by the path under which they were opened, or to which they were moved. */
    this.documents = new Map();
    this.#connect();
  }

  /** Go on with another login. */
  login(key) {
    this.key = key;
    this.reconnect();
  }

  /** Connect again now, not after the wait. */
  reconnect() {
    if (this.state === "closed") return;
    const old = this.#socket;
    this.#socket = null;
    if (old) old.close();
    this.#lost();
    this.#connect();
  }

  /** Open the document of a path; resolves at once if this window keeps unacknowledged text of it. */
  async open(path) {
    const known = this.documents.get(path);
    if (known) return known.opened;
    const document = new LiveDocument(this, path, readKept(this.storage, path));
    this.documents.set(path, document);
    return document.opened;
  }

  /** Return what this window has not been able to hand over: [{path, buffer_version, document}]. */
  kept() {
    if (!this.storage) return [];
    const names = Array.from({ length: this.storage.length }, (_, index) => this.storage.key(index));
    return names.filter((name) => name.startsWith(KEPT)).flatMap((name) => {
      const { path, version, document } = readKept(this.storage, name.slice(KEPT.length)) || {};
      return path === undefined ? [] : [{ path, buffer_version: version, document }];
    });
  }

  /** Send a frame and return its answer; rejects with LiveError if it is refused or the connection ends before. */
  request(type, fields = {}) {
    return new Promise((resolve, reject) => {
      if (this.state !== "connected") {
        reject(new LiveError("There is no connection to the server.", { retryable: true }));
        return;
      }
      this.#send(type, fields, { resolve, reject });
    });
  }

  /** Answer an approval; for people only. */
  answer(approvalId, answer, editedText = null) {
    const edited = editedText === null ? {} : { edited_text: editedText };
    return this.request("answer", { approval_id: approvalId, answer, ...edited });
  }

  /** Stop a call. */
  abort(call) {
    return this.request("abort", { call });
  }

  /** End the connection for good; documents stay open at the server for a minute. */
  close() {
    clearTimeout(this.#timer);
    this.#enter("closed");
    if (this.#socket) this.#socket.close();
    this.#fail();
  }

  #connect() {
    clearTimeout(this.#timer);
    this.#enter("connecting");
    const names = [PROTOCOL];
    if (this.key) names.push(`filetools-login.${this.key}`);
    if (this.token) names.push(`filetools-token.${this.token}`);
    const socket = new WebSocket(`${this.address.replace(/^http/, "ws")}/v1/live`, names);
    this.#socket = socket;
    const mine = (work) => (event) => this.#socket === socket && work(event);
    socket.onopen = mine(() => this.#greet());
    socket.onmessage = mine((event) => this.#take(JSON.parse(event.data)));
    socket.onclose = mine(() => this.#retry());
  }

  #greet() {
    const since = this.#position ? { since: this.#position } : {};
    const session = this.session ? { session: this.session } : {};
    this.#send("hello", { ...since, ...session }, {
      resolve: (welcome) => this.#begin(welcome),
      reject: () => {
        this.#position = null; // no position of this journal any more
        this.reconnect();
      },
    });
  }

  #begin(welcome) {
    this.#wait = FIRST_WAIT_MS;
    this.#position = welcome.position;
    this.welcome = welcome;
    this.#enter("connected");
    this.emit("snapshot", welcome);
    for (const document of [...this.documents.values()]) document.resume();
  }

  async #retry() {
    this.#socket = null;
    this.#lost();
    this.retryAt = Date.now() + this.#wait;
    this.#enter("waiting");
    const turn = ++this.#loops;
    if (this.key && (await this.#isLoginOver()) && turn === this.#loops && this.state === "waiting") {
      this.retryAt = null;
      this.#enter("logged-out");
      return;
    }
    if (this.state !== "waiting" || turn !== this.#loops) return;
    this.#timer = setTimeout(() => this.#connect(), this.#wait * (0.75 + Math.random() / 2));
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT_MS);
  }

  /** A socket that is refused tells no reason; a plain request does. */
  async #isLoginOver() {
    try {
      const options = { headers: { "Filetools-Login": this.key }, credentials: "include", cache: "no-store" };
      return (await fetch(`${this.address}/v1/status`, options)).status === 401;
    } catch {
      return false;
    }
  }

  #enter(state) {
    if (this.state === state) return;
    this.state = state;
    this.emit("state", state);
  }

  #send(type, fields, answer) {
    const id = this.#nextId++;
    this.#answers.set(id, answer);
    this.#socket.send(JSON.stringify({ type, id, ...fields }));
  }

  #lost() {
    this.#fail();
    for (const document of [...this.documents.values()]) document.pause();
  }

  #fail() {
    const waiting = [...this.#answers.values()];
    this.#answers.clear();
    for (const { reject } of waiting) {
      reject(new LiveError("The connection ended before the server answered.", { retryable: true }));
    }
  }

  #take(frame) {
    if (frame.position) this.#position = frame.position;
    const answer = this.#answers.get(frame.id);
    if (answer && ["ack", "error", "welcome"].includes(frame.type)) {
      this.#answers.delete(frame.id);
      if (frame.type === "error") answer.reject(errorOf(frame));
      else answer.resolve(frame); // what was promised goes on before the next frame comes
      return;
    }
    if (frame.type === "edits") this.#documentOf(frame.handle)?.take(frame);
    else if (frame.type === "resync") this.#resync(frame);
    else if (frame.type === "event") this.#tell(frame);
    else if (frame.type === "approval" || frame.type === "progress") this.emit(frame.type, frame);
  }

  #resync(frame) {
    if (frame.handle) this.#documentOf(frame.handle)?.replace(frame.document);
    if (frame.snapshot) {
      this.welcome = { ...this.welcome, ...frame.snapshot };
      this.emit("snapshot", this.welcome);
    }
    if (frame.position) this.emit("look-again", frame);
  }

  #tell(frame) {
    for (const document of [...this.documents.values()]) document.hear(frame);
    this.emit("event", frame);
  }

  #documentOf(handle) {
    return [...this.documents.values()].find((document) => document.handle === handle);
  }
}

/** One open document: the text that this window shows, and its way to the server and back. */
export class LiveDocument extends Emitter {
  #base = ""; // the server's text at `bufferVersion`
  #sent = null; // {id, edits}: on its way; edits of `#base`
  #unsent = []; // typed since; edits of `#base` with `#sent` in it
  #clean = null; // the file's text when nothing was unsaved; null if that is not known
  #hasTyped = false; // since then, in this window
  #document = null; // the server's name of it: one that is opened anew is another one
  #isReady = false;
  #awaitsText = false;
  #refusals = 0;
  #halfTimer = null;
  #names = `${crypto.getRandomValues(new Uint32Array(2)).join("-")}-`; // two windows give no two changes one name
  #count = 0;
  #settling = [];
  #opening;

  constructor(live, path, kept) {
    super();
    Object.assign(this, { live, path, handle: null, text: "", bufferVersion: null, version: null });
    Object.assign(this, { dirty: false, behind: false, deleted: false, stored: true, encoding: "", newline: "lf", bom: false });
    this.opened = new Promise((resolve, reject) => {
      this.#opening = { resolve, reject };
    });
    if (kept) this.#restore(kept);
    if (live.state === "connected") this.resume();
  }

  /** Whether anything typed here is not acknowledged. */
  get pending() {
    return this.#sent !== null || this.#unsent.length > 0;
  }

  /** Take in what the person typed: edits of `text`, in any order, not overlapping. */
  change(edits) {
    const sorted = edits.filter((each) => each.end > each.start || each.text).sort((a, b) => a.start - b.start || a.end - b.end);
    if (sorted.length === 0) return;
    this.text = applyEdits(this.text, sorted);
    this.#unsent = compose(this.#unsent, sorted);
    this.#hasTyped = this.dirty = true;
    this.#keep();
    this.#pump();
    this.emit("state", this);
  }

  /** Wait until the server has everything typed, then write the file; rejects with LiveError, and repeats nothing. */
  async save(onConflict = "merge") {
    this.#mendHalfPairs();
    if (this.pending || !this.#isReady) {
      if (this.live.state !== "connected") throw new LiveError("There is no connection; nothing was saved.", { retryable: true });
      await new Promise((resolve, reject) => this.#settling.push({ resolve, reject }));
    }
    const saved = await this.live.request("save", { handle: this.handle, on_conflict: onConflict });
    this.version = saved.version;
    this.#note({ dirty: saved.dirty, behind: false });
    this.deleted = false;
    this.emit("state", this);
    return saved;
  }

  /** Give the document up; unsaved text that nobody else has open is kept as a version of the path. */
  async close() {
    this.live.documents.delete(this.path);
    this.#sent = null;
    this.#unsent = [];
    this.live.storage?.removeItem(KEPT + this.path);
    if (!this.#isReady || this.live.state !== "connected") return null; // the server gives it up by itself
    this.#isReady = false;
    return this.live.request("close", { handle: this.handle });
  }

  /** The connection is lost; called by Live. */
  pause() {
    this.#isReady = this.#awaitsText = false;
    this.#settle(new LiveError("The connection ended before everything typed had arrived; nothing was saved.", { retryable: true }));
    this.emit("state", this);
  }

  /** There is a connection: open the document, or go on with it; called by Live. */
  resume() {
    this.#isReady = this.#awaitsText = false;
    const handle = this.handle === null ? {} : { handle: this.handle };
    const known = this.handle === null || this.bufferVersion === null ? {} : { buffer_version: this.bufferVersion };
    this.live.request("open", { path: this.path, ...handle, ...known }).then(
      (ack) => this.#begin(ack),
      (error) => {
        if (error.code === "CONNECTION_LOST") return; // the next connection resumes
        if (this.#document === null) this.live.documents.delete(this.path);
        this.#opening.reject(error);
        this.#settle(error);
        this.emit("problem", error);
      },
    );
  }

  /** Take in what others did; called by Live. */
  take(frame) {
    if (!this.#isReady || this.#sent || this.bufferVersion === null) return; // the answer to the own change brings it
    if (frame.since === this.bufferVersion) this.#others(frame.edits, frame);
    else if (frame.since > this.bufferVersion) this.resume();
  }

  /** Take a whole text in place of the server's, under what was typed; called by Live. */
  replace(fresh) {
    if (this.#sent) this.#awaitsText = true; // another text with the change in it follows its answer
    else {
      this.#adopt(fresh);
      if (this.#refusals < MOST_REFUSALS) this.#pump();
    }
  }

  /** Hear what happens to the file; called by Live. */
  hear(frame) {
    if (frame.event === "buffer:moved" && frame.document === this.#document) this.#rename(frame.path);
    else if (frame.path === this.path && /^file:(deleted|created|modified)$/.test(frame.event)) {
      this.deleted = frame.event === "file:deleted";
    } else if (frame.document === this.#document && frame.event === "buffer:behind") this.behind = true;
    else return;
    this.emit("state", this);
  }

  #begin(ack) {
    if (this.live.documents.get(this.path) !== this) return; // closed meanwhile
    this.handle = ack.handle;
    if (ack.path !== this.path) this.#rename(ack.path);
    this.#isReady = true;
    if (!ack.resumed) {
      this.#adopt(ack);
      this.#pump();
    } else if (this.#sent) this.#offer();
    else {
      this.#note({ dirty: ack.dirty });
      this.#pump();
    }
    this.#opening.resolve(this);
    this.emit("state", this);
  }

  /** Go on from a whole text of the server's: what was typed is carried onto it, and shown by minimal edits. */
  #adopt(fresh) {
    const isSame = fresh.document === this.#document;
    const from = isSame || !this.#hasTyped || this.#clean === null ? this.#base : this.#clean;
    const mine = from === this.#base ? compose(this.#sent?.edits || [], this.#unsent) : diffEdits(from, this.text);
    const isGone = !isSame && this.#hasTyped && fresh.disk_version === undefined && fresh.text === "";
    const theirs = isGone ? [] : diffEdits(from, fresh.text);
    const isTheirs = (edit) => !isSame && theirs.some((each) => each.start === edit.start && each.end === edit.end && each.text === edit.text);
    const before = this.text;
    this.#base = fresh.text;
    this.#sent = null;
    this.#awaitsText = false;
    this.#unsent = isGone ? diffEdits("", before) : transform(mine.filter((edit) => !isTheirs(edit)), theirs, false);
    this.text = applyEdits(this.#base, this.#unsent);
    const isFirst = this.#document === null;
    this.#document = fresh.document;
    this.bufferVersion = fresh.buffer_version;
    const { handle, encoding, newline, bom, behind, version } = fresh;
    Object.assign(this, { handle, encoding, newline, bom, behind, version });
    this.#note(fresh);
    if (!isFirst && before !== this.text) {
      this.emit("edits", { edits: diffEdits(before, this.text), actor: null, reason: "resync" });
    }
    this.#mayBeSettled();
  }

  #others(edits, { buffer_version: version, dirty, actor = null, reason = "crossed" }) {
    const shown = transform(edits, this.#unsent, true);
    this.#unsent = transform(this.#unsent, edits, false);
    this.#base = applyEdits(this.#base, edits);
    this.text = applyEdits(this.text, shown);
    this.bufferVersion = version;
    this.#note({ dirty });
    if (shown.length) this.emit("edits", { edits: shown, actor, reason });
    this.emit("state", this);
  }

  #note({ dirty, behind = this.behind }) {
    this.dirty = dirty || this.pending;
    this.behind = behind;
    if (!this.dirty) {
      this.#clean = this.text;
      this.#hasTyped = false;
    }
    this.#keep();
  }

  #pump() {
    if (this.#sent || !this.#isReady || this.#unsent.length === 0) return this.#mayBeSettled();
    if (this.#unsent.some((edit) => !edit.text.isWellFormed())) {
      this.#halfTimer ??= setTimeout(() => this.#mendHalfPairs(), HALF_PAIR_MS); // its other half may be on its way
      return undefined;
    }
    const [now, later] = portion(this.#unsent);
    this.#sent = { id: `${this.#names}${++this.#count}`, edits: now };
    this.#unsent = later;
    this.#keep();
    return this.#offer();
  }

  /** Send the change that is on its way, for the first time or again: by its name the server makes it once. */
  #offer() {
    const sent = this.#sent;
    const fields = { handle: this.handle, buffer_version: this.bufferVersion, change_id: sent.id, edits: sent.edits };
    this.live.request("change", fields).then(
      (ack) => this.#sent === sent && this.#acknowledged(ack),
      (error) => this.#sent === sent && this.#declined(error),
    );
  }

  #acknowledged(ack) {
    this.#base = applyEdits(this.#base, this.#sent.edits);
    this.#sent = null;
    this.#refusals = 0;
    if (this.#awaitsText) this.bufferVersion = null; // the text that comes next is of another version than the answer
    else {
      this.#others(ack.edits, { ...ack, actor: null });
      this.#pump();
    }
  }

  #declined(error) {
    if (error.code === "CONNECTION_LOST") return; // sent again, by its name, with the next connection
    this.#unsent = diffEdits(this.#base, this.text.toWellFormed());
    this.#sent = null;
    this.#refusals += 1;
    this.#keep();
    if (error.code === "BUFFER_CLOSED") {
      this.handle = this.bufferVersion = null;
      if (this.#refusals < MOST_REFUSALS) this.resume();
    } else if (error.code !== "RESYNC") {
      this.#settle(error);
      this.emit("problem", error); // the text follows, and what was typed is sent again on top of it
    }
  }

  #mendHalfPairs() {
    clearTimeout(this.#halfTimer);
    this.#halfTimer = null;
    const whole = this.text.toWellFormed(); // half a pair is no character, and becomes U+FFFD
    if (whole === this.text) return;
    const edits = [];
    for (let at = 0; at < whole.length; at += 1) {
      if (whole.charCodeAt(at) !== this.text.charCodeAt(at)) edits.push({ start: at, end: at + 1, text: whole[at] });
    }
    this.#unsent = compose(this.#unsent, edits);
    this.text = whole;
    this.emit("edits", { edits, actor: null, reason: "half a character" });
    this.#keep();
    this.#pump();
  }

  #mayBeSettled() {
    if (!this.pending && this.#isReady) this.#settle(null);
  }

  #settle(error) {
    for (const { resolve, reject } of this.#settling.splice(0)) {
      if (error) reject(error);
      else resolve();
    }
  }

  #rename(path) {
    this.live.storage?.removeItem(KEPT + this.path);
    this.live.documents.delete(this.path);
    this.path = path;
    this.live.documents.set(path, this);
    this.#keep();
  }

  /** Keep what the server does not have; and, of a document with unsaved text, what goes on with it after a reload. */
  #keep() {
    const storage = this.live.storage;
    if (!storage) return;
    const name = KEPT + this.path;
    if (!this.pending && !(this.dirty && this.#hasTyped)) {
      storage.removeItem(name);
      this.stored = true;
      return;
    }
    const entry = { path: this.path, handle: this.handle, document: this.#document, version: this.bufferVersion };
    Object.assign(entry, { base: this.#base, clean: this.#clean, sent: this.#sent, unsent: this.#unsent, hasTyped: this.#hasTyped });
    const was = this.stored;
    try {
      storage.setItem(name, JSON.stringify(entry));
      this.stored = true;
    } catch {
      this.stored = false; // the storage is full: typing goes on, and the page says that a reload would lose it
    }
    if (was && !this.stored) this.emit("problem", new LiveError("This window's storage is full: do not reload.", { code: "NOT_KEPT" }));
  }

  #restore(kept) {
    Object.assign(this, { handle: kept.handle, bufferVersion: kept.version, dirty: true });
    this.#document = kept.document;
    this.#base = kept.base;
    this.#clean = kept.clean;
    this.#sent = kept.sent;
    this.#unsent = kept.unsent;
    this.#hasTyped = kept.hasTyped;
    this.text = applyEdits(applyEdits(this.#base, this.#sent?.edits || []), this.#unsent);
    this.#opening.resolve(this);
  }
}

function errorOf(frame) {
  const { error, error_code: code, retryable, suggested_action: suggestedAction, details } = frame;
  return new LiveError(error, { code, retryable, suggestedAction, details });
}

function readKept(storage, path) {
  try {
    const kept = JSON.parse(storage?.getItem(KEPT + path) ?? "null");
    return kept && typeof kept.base === "string" && Array.isArray(kept.unsent) ? kept : null;
  } catch {
    return null; // another program's, or cut off
  }
}

/** Return as many edits as one frame takes, and the rest as edits of what these leave. */
function portion(edits) {
  const now = [];
  const later = [];
  let room = MOST_UNITS;
  let shift = 0;
  for (const edit of edits) {
    if (later.length || now.length === MOST_EDITS || room === 0) {
      later.push({ start: edit.start + shift, end: edit.end + shift, text: edit.text });
      continue;
    }
    let cut = Math.min(edit.text.length, room);
    if (cut < edit.text.length && /[\uD800-\uDBFF]/.test(edit.text[cut - 1])) cut -= 1; // no pair is cut in two
    now.push({ start: edit.start, end: edit.end, text: edit.text.slice(0, cut) });
    room -= cut;
    shift += cut - (edit.end - edit.start);
    const at = edit.end + shift;
    if (cut < edit.text.length) later.push({ start: at, end: at, text: edit.text.slice(cut) });
  }
  return [now, later];
}

/** Return a text with edits of it done. */
export function applyEdits(text, edits) {
  const parts = [];
  let at = 0;
  for (const edit of edits) {
    parts.push(text.slice(at, edit.start), edit.text);
    at = edit.end;
  }
  parts.push(text.slice(at));
  return parts.join("");
}

/**
 * Return edits of a text as edits of what other edits of the same text leave. Nothing either side adds is lost.
 * @param {boolean} isFirst Whether the new text of `edits` stands first where both sides have some in one place.
 */
export function transform(edits, against, isFirst) {
  if (against.length === 0 || edits.length === 0) return edits;
  let next = 0;
  let end = 0;
  let shift = 0;
  const pass = (isPassed) => {
    for (; next < against.length && isPassed(against[next].start); next += 1) {
      end = against[next].end;
      shift += against[next].text.length - (against[next].end - against[next].start);
    }
  };
  const before = (place) => (pass((start) => start < place), Math.max(place, end) + shift);
  const behind = (place) => (pass((start) => start <= place), Math.max(place, end) + shift);
  const made = [];
  for (const edit of edits) {
    const place = isFirst ? before(edit.start) : behind(edit.start);
    if (edit.text) made.push({ start: place, end: place, text: edit.text });
    // What the other side put into the removed text stays, so the removal is cut there.
    for (let start = edit.start; start < edit.end; ) {
      const first = behind(start);
      start = next < against.length ? Math.min(against[next].start, edit.end) : edit.end;
      const last = before(start);
      if (last > first) made.push({ start: first, end: last, text: "" });
    }
  }
  return joined(made);
}

/** Join edits that touch where no new text leaves its place. */
function joined(edits) {
  const made = [];
  for (const edit of edits) {
    const last = made.at(-1);
    const isPure = last && last.start === last.end;
    if (last && edit.start === last.end && (!edit.text || isPure)) {
      last.end = edit.end;
      last.text += edit.text;
    } else made.push({ ...edit });
  }
  return made;
}

/** Return edits that do what two lists do one after the other; the second are edits of what the first leave. */
export function compose(first, second) {
  if (first.length === 0 || second.length === 0) return first.length ? first : second;
  const made = [];
  let at = 0; // in the text before both
  let text = "";
  const flush = (start) => {
    if (start > at || text) made.push({ start: at, end: start, text });
    text = "";
  };
  const pieces = piecesAfter(first);
  let piece = pieces.next().value;
  let used = 0;
  const take = (count, isKept) => {
    for (let left = count; left > 0; ) {
      const length = piece.text === undefined ? piece.end - piece.start : piece.text.length;
      const part = Math.min(left, length - used);
      if (isKept && piece.text !== undefined) text += piece.text.slice(used, used + part);
      else if (isKept) {
        flush(piece.start + used);
        at = piece.start + used + part;
      }
      used += part;
      left -= part;
      if (used === length) [piece, used] = [pieces.next().value, 0];
    }
  };
  let place = 0;
  for (const edit of second) {
    take(edit.start - place, true);
    take(edit.end - edit.start, false);
    text += edit.text;
    place = edit.end;
  }
  while (piece && piece.end !== Infinity) take((piece.text === undefined ? piece.end - piece.start : piece.text.length) - used, true);
  flush(piece.start + used);
  return made.filter((edit) => edit.end > edit.start || edit.text);
}

/** Yield the text that edits leave in pieces: {start, end} of the text before, or {text} that is new. */
function* piecesAfter(edits) {
  let at = 0;
  for (const edit of edits) {
    if (edit.start > at) yield { start: at, end: edit.start };
    if (edit.text) yield { text: edit.text };
    at = edit.end;
  }
  yield { start: at, end: Infinity };
}

/** Return small edits that make one text of another: differing lines, trimmed to what differs in them. */
export function diffEdits(old, fresh) {
  const [start, end] = commonEnds(old, fresh);
  const middle = [old.slice(start, old.length - end), fresh.slice(start, fresh.length - end)];
  if (middle[0] === "" && middle[1] === "") return [];
  const edits = [];
  for (const { from, to, text } of lineHunks(...middle)) {
    const gone = middle[0].slice(from, to);
    const [head, tail] = commonEnds(gone, text);
    edits.push({ start: start + from + head, end: start + to - tail, text: text.slice(head, text.length - tail) });
  }
  return edits;
}

/** Return how many units two texts share at their start and end, whole characters each. */
function commonEnds(one, other) {
  const most = Math.min(one.length, other.length);
  let start = 0;
  while (start < most && one.charCodeAt(start) === other.charCodeAt(start)) start += 1;
  if (start > 0 && (one.charCodeAt(start - 1) & 0xfc00) === 0xd800) start -= 1;
  let end = 0;
  while (end < most - start && one.charCodeAt(one.length - 1 - end) === other.charCodeAt(other.length - 1 - end)) end += 1;
  if (end > 0 && (one.charCodeAt(one.length - end) & 0xfc00) === 0xdc00) end -= 1;
  return [start, end];
}

/** Yield where the lines of two texts differ: {from, to} in the old one, and the text there now. Source: Myers (1986). */
function lineHunks(old, fresh) {
  const [one, other] = [old, fresh].map((text) => text.match(/[^\n]*\n|[^\n]+$/g) || []);
  const trail = [];
  let row = new Map([[1, 0]]);
  search: for (let steps = 0; ; steps += 1) {
    if (steps > MOST_STEPS) return [{ from: 0, to: old.length, text: fresh }];
    trail.push(row);
    row = new Map(row);
    for (let diagonal = -steps; diagonal <= steps; diagonal += 2) {
      const down = diagonal === -steps || (diagonal !== steps && row.get(diagonal - 1) < row.get(diagonal + 1));
      let x = down ? row.get(diagonal + 1) : row.get(diagonal - 1) + 1;
      while (x < one.length && x - diagonal < other.length && one[x] === other[x - diagonal]) x += 1;
      row.set(diagonal, x);
      if (x >= one.length && x - diagonal >= other.length) break search;
    }
  }
  const gone = new Uint8Array(one.length);
  const added = new Uint8Array(other.length);
  let [x, y] = [one.length, other.length];
  for (let steps = trail.length - 1; steps > 0; steps -= 1) {
    const known = trail[steps];
    const diagonal = x - y;
    const down = diagonal === -steps || (diagonal !== steps && known.get(diagonal - 1) < known.get(diagonal + 1));
    const start = down ? known.get(diagonal + 1) : known.get(diagonal - 1);
    [x, y] = [start, start - (down ? diagonal + 1 : diagonal - 1)];
    if (down) added[y] = 1;
    else gone[x] = 1;
  }
  return collected(one, other, gone, added);
}

function collected(one, other, gone, added) {
  const hunks = [];
  let at = 0;
  for (let x = 0, y = 0; x < one.length || y < other.length; ) {
    if (!gone[x] && !added[y]) {
      at += one[x].length;
      x += 1;
      y += 1;
      continue;
    }
    const hunk = { from: at, to: at, text: "" };
    for (; gone[x]; x += 1) hunk.to += one[x].length;
    for (; added[y]; y += 1) hunk.text += other[y];
    at = hunk.to;
    hunks.push(hunk);
  }
  return hunks;
}
