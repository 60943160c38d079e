/**
 * The live protocol of filetools, for editors in a browser: documents that people and agents share, events, approvals.
 * It imports nothing and touches no element of the page. Texts are LF texts, places count UTF-16 units, and a list of edits
 * holds {start, end, text} in the text before any of them: in order, not overlapping. What is typed is in the window's
 * storage until the server has it.
 */

const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 5000;
const BEAT_MS = 20_000;
const HALF_PAIR_MS = 1000; // half a pair of surrogates waits for its other half
const CLAIM_MS = 10_000;
const CLAIM_STEP_MS = 100;
const MOST_UNITS = 600_000; // of one change: six bytes each at worst, in a frame of at most 4 MiB
const MOST_EDITS = 5000; // of one change; the server takes 10,000
const KEPT_STEPS = 1000; // of a document, in which the server looks for the name of a change
const MOST_REFUSALS = 3; // in a row; then another letter or connection tries again
const MOST_STEPS = 500; // of a line-wise diff; beyond, texts differ in one place
const KEPT = "filetools-kept:";
const LOCK = "filetools-live:";

/** Raised when the server refuses, or the connection is lost before it answers (CONNECTION_LOST). */
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
				console.error(error); // the others, and the protocol, go on
			}
		}
	}
}

/**
 * One connection, which comes back whenever it is lost, until `close`. Tells "state", "snapshot" (anything may have
 * changed), "event" (a frame), "approval", "progress", and "look-again" (list files again).
 */
export class Live extends Emitter {
	state = "connecting"; // "connected", "waiting" (tries again at `retryAt`), "logged-out" (until `login`), "closed"
	retryAt = null; // ms since the epoch
	welcome = null;
	documents = new Map(); // by path
	load = randomName(); // names this load of the page
	#socket = null;
	#answers = new Map();
	#count = 0;
	#position = null;
	#wait = FIRST_WAIT_MS;
	#timer = null;
	#isQuiet = false;
	#online = () => this.reconnect();
	#beat = setInterval(() => this.#listen(), BEAT_MS);
	#release;

	/** Takes a login's key or a token. Without a storage, a reload loses what is not acknowledged. */
	constructor({ address = location.origin, key = null, token = null, session = null, storage = sessionStorage } = {}) {
		super();
		Object.assign(this, { address, key, token, session, storage });
		const end = new Promise((resolve) => (this.#release = resolve));
		navigator.locks?.request(LOCK + this.load, () => end);
		addEventListener("online", this.#online);
		this.#connect();
	}

	/** Go on with another login. */
	login(key) {
		this.key = key;
		this.reconnect();
	}

	reconnect() {
		if (this.state !== "closed") this.#connect();
	}

	/** Open a document, once a path; one of which this window kept text resolves without a server, too. */
	open(path) {
		const document = this.documents.get(path) ?? new LiveDocument(this, path);
		this.documents.set(document.path, document);
		return document.opened;
	}

	/** Return what is kept of documents that are not open: [{path, buffer_version, …}]; `open` goes on with it. */
	kept() {
		const names = Object.keys(this.storage ?? {}).filter((name) => name.startsWith(KEPT));
		const entries = names.map((name) => readKept(this.storage, name.slice(KEPT.length)));
		return entries.filter((entry) => entry && !this.documents.has(entry.path));
	}

	/** Send a frame, return its ack; rejects with LiveError. Nothing is sent again. */
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

	abort(callId) {
		return this.request("abort", { call: callId });
	}

	/** End the connection for good. What is not acknowledged stays in the storage. */
	close() {
		clearInterval(this.#beat);
		removeEventListener("online", this.#online);
		this.#hangUp();
		this.#enter("closed");
		this.#release();
	}

	#connect() {
		this.#hangUp();
		this.#enter("connecting");
		const names = ["filetools-live"];
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
		const [since, session] = [this.#position ?? undefined, this.session ?? undefined];
		const refused = (error) => {
			if (error.code === "CONNECTION_LOST") return;
			this.#position = null; // of another journal
			this.#socket.close();
		};
		this.request("hello", { since, session }).then((welcome) => this.#begin(welcome, since), refused);
	}

	#begin(welcome, since) {
		const isGap = this.welcome !== null && since === undefined;
		[this.welcome, this.#position, this.#wait] = [welcome, welcome.position, FIRST_WAIT_MS];
		this.#enter("connected");
		this.emit("snapshot", welcome);
		if (isGap) this.emit("look-again", welcome);
		for (const document of [...this.documents.values()]) document.resume();
	}

	#hangUp() {
		clearTimeout(this.#timer);
		const socket = this.#socket;
		this.#socket = this.#timer = this.retryAt = null;
		socket?.close();
		for (const { reject } of this.#answers.values()) reject(lost());
		this.#answers.clear();
		for (const document of [...this.documents.values()]) document.pause();
	}

	async #retry() {
		this.#hangUp();
		const wait = this.#wait * (0.75 + Math.random() / 2);
		const timer = setTimeout(() => this.#connect(), wait);
		[this.#timer, this.retryAt, this.#wait] = [timer, Date.now() + wait, Math.min(this.#wait * 2, LONGEST_WAIT_MS)];
		this.#enter("waiting");
		if (!(await this.#isLoginOver()) || this.#timer !== timer || this.state === "connected") return;
		this.#hangUp();
		this.#enter("logged-out");
	}

	/** Whether the server wants a login, or another one: a socket that is refused does not tell why. */
	async #isLoginOver() {
		const headers = {};
		if (this.key) headers["Filetools-Login"] = this.key;
		if (this.token) headers.Authorization = `Bearer ${this.token}`;
		const asked = fetch(`${this.address}/v1/status`, { headers, credentials: "include", cache: "no-store" });
		return asked.then((answer) => answer.status === 401, () => false);
	}

	#listen() {
		if (this.state !== "connected") return;
		if (this.#isQuiet) return void this.reconnect(); // not even the last ping was answered
		this.#isQuiet = true;
		this.request("ping").catch(() => {});
	}

	#enter(state) {
		if (this.state === state) return;
		this.state = state;
		this.emit("state", state);
	}

	#take(frame) {
		const { type, handle, position } = frame;
		const answer = this.#answers.get(frame.id);
		const open = [...this.documents.values()];
		this.#isQuiet = false;
		if (position) this.#position = position;
		if (answer) {
			this.#answers.delete(frame.id);
			if (type === "error") answer.reject(errorOf(frame));
			else answer.resolve(frame); // the caller continues before the next frame is taken
		} else if (type === "approval" || type === "progress") this.emit(type, frame);
		else if (type === "event") {
			for (const document of open) document.hear(frame);
			this.emit("event", frame);
		} else if (handle) open.find((each) => each.handle === handle)?.take(frame);
		else if (type === "resync") this.emit("look-again", frame);
	}
}

/**
 * One open document; lives until it is closed. Tells "edits" {edits, actor, reason}: what others did, to be put into the
 * view at once; "state"; "problem" (LiveError: what was typed is refused, or cannot be kept); and "closed".
 */
export class LiveDocument extends Emitter {
	handle = null;
	text = "";
	bufferVersion = null; // null: a whole text is awaited
	version = null; // of the file's content
	behind = false; // whether the file has changed in a way that could not be merged in
	deleted = false; // whether there is no file
	isKept = true; // false: the storage is full, and a reload would lose what is pending
	#document = null; // the server's name of it; one that is opened anew has another
	#base = ""; // the server's text at `bufferVersion`
	#clean = null; // the server's text without what is unsaved; null: not known
	#queue = []; // changes {id, edits, version}, each of what the one before leaves; with a version it was sent, on that
	#unsent = []; // what was typed since
	#sent = null; // the change whose answer is awaited
	#isOvertaken = false; // whether a whole text came since it was sent, and another will come
	#isDirty = false;
	#isReady = false;
	#isClosing = false;
	#isClaimed = false;
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

	get #isOpen() {
		return this.live.documents.get(this.path) === this;
	}

	/** Take what the person typed: edits of `text`, in any order. Returns them in theirs. */
	change(edits) {
		const made = [...edits].sort((one, other) => one.start - other.start || one.end - other.end);
		this.text = applyEdits(this.text, made);
		this.#unsent = compose(this.#unsent, made);
		this.#pump(true);
		this.emit("state", this);
		return made;
	}

	/** Write the file, once the server has all that was typed. Rejects with LiveError, and is not repeated. */
	async save(onConflict = "merge", encoding = undefined) {
		await this.#settled();
		const saved = await this.live.request("save", { handle: this.handle, on_conflict: onConflict, encoding });
		Object.assign(this, { version: saved.version, behind: false, deleted: false, encoding: encoding ?? this.encoding });
		this.#isDirty = saved.dirty;
		this.emit("state", this);
		return saved;
	}

	/** Give the document up, once the server has all that was typed; rejects with LiveError if it cannot get it. */
	async close() {
		if (this.pending) await this.#settled();
		const asked = this.#isReady ? this.live.request("close", { handle: this.handle }) : null;
		this.#isReady = false;
		this.#isClosing = true;
		const closed = await asked?.catch((error) => {
			if (error.code === "CONNECTION_LOST") return null;
			this.#isClosing = false;
			this.resume(); // it goes on
			throw error;
		});
		this.live.documents.delete(this.path);
		this.emit("closed", { kept_version: closed?.kept_version ?? null, reason: "closed" });
		return closed ?? null;
	}

	/** Called by Live, as the next three: the connection is lost. */
	pause() {
		this.#isReady = this.#isOvertaken = false;
		this.#sent = null;
		this.#refusals = 0;
		this.#finish(lost());
	}

	/** There is a connection on which to open the document, or to go on with it. */
	resume() {
		if (!this.#isClaimed) return;
		this.#isReady = false;
		const known = this.handle && { handle: this.handle, buffer_version: this.bufferVersion ?? undefined };
		this.live.request("open", { path: this.path, ...known }).then(
			(opened) => this.#isOpen && this.#begin(opened),
			(error) => this.#isOpen && error.code !== "CONNECTION_LOST" && this.#fail(error),
		);
	}

	/** A frame about this document. */
	take({ type, since, edits, document, ...facts }) {
		if (!this.#isReady) return;
		if (type === "resync" && this.#sent) this.#isOvertaken = document.buffer_version > this.bufferVersion;
		else if (type === "resync") this.#adopt(document);
		else if (type !== "edits" || this.#sent || this.bufferVersion === null) return; // the answer brings them
		else if (since > this.bufferVersion) this.resume();
		else if (since === this.bufferVersion) this.#others(edits, facts);
	}

	/** Something happened, perhaps to this document or its file. */
	hear({ event, path, document, file_version: saved }) {
		const isOurs = document !== undefined && document === this.#document;
		if (isOurs && event === "buffer:moved") this.#rename(path);
		else if (isOurs && event === "buffer:behind") this.behind = true;
		else if (isOurs && event === "buffer:closed") return this.#isClosing ? undefined : this.#reopen();
		else if (isOurs && event === "buffer:saved") [this.version, this.behind] = [saved, false];
		else if (path !== this.path || !/^file:(created|modified|deleted)$/.test(event)) return undefined;
		else this.deleted = event === "file:deleted";
		return this.emit("state", this);
	}

	/** Go on with what a former load kept; a duplicated tab leaves it to the first. */
	async #claim(kept) {
		if (kept && (kept.load === this.live.load || (await isOver(kept.load)))) {
			Object.assign(this, { handle: kept.handle, bufferVersion: kept.buffer_version });
			[this.#document, this.#base, this.#clean] = [kept.document, kept.base, kept.clean];
			[this.#queue, this.#unsent, this.#isDirty] = [kept.queue, kept.unsent, true];
			this.text = [...kept.queue.map((each) => each.edits), kept.unsent].reduce(applyEdits, kept.base);
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
		if (!opened.resumed) this.#adopt(opened);
		else {
			this.#isDirty = opened.dirty;
			this.#pump();
		}
		this.#settle.resolve(this);
		this.emit("state", this);
	}

	/** Open it anew: its time was up while the machine slept, say. */
	#reopen() {
		if (this.handle === null) return;
		this.handle = null;
		this.resume();
	}

	#fail(error) {
		this.#isReady = false;
		if (this.#document === null) this.live.documents.delete(this.path);
		else setTimeout(() => this.#isOpen && !this.#isReady && this.resume(), LONGEST_WAIT_MS);
		this.#settle.reject(error);
		this.#finish(error);
		this.emit("problem", error);
	}

	/** Take a whole text of the server's: what was typed is carried onto it, and the view gets small edits. */
	#adopt(fresh) {
		const before = this.text;
		const isSame = fresh.document === this.#document;
		const isForgotten = this.#queue[0]?.version < fresh.buffer_version - KEPT_STEPS;
		if (isSame && !isForgotten) this.#carry(diffEdits(this.#base, fresh.text));
		else {
			const from = this.#ancestor(fresh, isSame);
			// Where that is not known, nothing of either text is taken away.
			const mine = from === null ? additions(diffEdits(fresh.text, before)) : diffEdits(from, before);
			[this.#queue, this.#unsent] = [[], transform(mine, from === null ? [] : diffEdits(from, fresh.text), false)];
		}
		if (!fresh.dirty || !isSame) this.#clean = fresh.dirty ? null : fresh.text;
		[this.#document, this.bufferVersion, this.#isDirty] = [fresh.document, fresh.buffer_version, fresh.dirty];
		this.#base = fresh.text;
		this.text = [...this.#queue.map((each) => each.edits), this.#unsent].reduce(applyEdits, this.#base);
		const { version, behind, encoding, newline, bom } = fresh;
		Object.assign(this, { version, behind, encoding, newline, bom, deleted: fresh.disk_version === undefined });
		const edits = diffEdits(before, this.text);
		if (edits.length) this.emit("edits", { edits, actor: null, reason: "resync" });
		this.#pump();
	}

	/** Return the text that another one goes back to: of those that were here, the one most like it. */
	#ancestor(fresh, isSame) {
		const isLeft = this.#isDirty && !isSame; // with text that is not in the file
		if (isLeft && fresh.text === "" && fresh.disk_version === undefined) return "";
		if (isLeft && this.#clean === null) return null;
		const known = isLeft ? [this.#base, this.#clean] : [this.#base];
		if (this.#queue[0]?.version) known.push(applyEdits(this.#base, this.#queue[0].edits));
		const weights = known.map((text) => weightOf(diffEdits(text, fresh.text)));
		return known[weights.indexOf(Math.min(...weights))];
	}

	/** Carry what was typed past edits of the server's text, and return these as edits of `text`. */
	#carry(edits) {
		let theirs = edits;
		for (const change of this.#queue) {
			[change.edits, theirs] = [transform(change.edits, theirs, false), transform(theirs, change.edits, true)];
		}
		const shown = transform(theirs, this.#unsent, true); // in one place theirs comes first
		this.#unsent = transform(this.#unsent, theirs, false);
		return shown;
	}

	#others(edits, { buffer_version: version, dirty, actor = null, reason = "crossed" }) {
		const shown = this.#carry(edits);
		this.#base = applyEdits(this.#base, edits);
		this.text = applyEdits(this.text, shown);
		[this.bufferVersion, this.#isDirty] = [version, dirty];
		if (!dirty) [this.#clean, this.behind] = [this.#base, false];
		if (shown.length) this.emit("edits", { edits: shown, actor, reason });
		this.#pump();
		this.emit("state", this);
	}

	/** Keep what is to be sent, then send the next change if none is on its way. */
	#pump(isTyped = false) {
		if (isTyped) this.#refusals = Math.min(this.#refusals, MOST_REFUSALS - 1);
		const isFree = this.#isReady && !this.#sent && this.bufferVersion !== null && this.#refusals < MOST_REFUSALS;
		if (isFree && !this.#queue.length && this.#unsent.length && this.#isWhole()) {
			const parts = portions(aroundPairs(this.#base, compose(this.#unsent, [])));
			[this.#queue, this.#unsent] = [parts.map((edits) => ({ id: randomName(), edits })), []];
		}
		const next = isFree ? this.#queue[0] : undefined;
		if (next) next.version ??= this.bufferVersion;
		this.#keep();
		if (next) this.#send(next);
		else if (isFree && !this.pending) this.#finish(null);
	}

	/** Send a change, perhaps again: by its name the server makes it once. */
	#send(change) {
		this.#sent = change;
		const base = { handle: this.handle, buffer_version: this.bufferVersion };
		this.live.request("change", { ...base, change_id: change.id, edits: change.edits }).then(
			(made) => this.#sent === change && this.#acknowledge(change, made),
			(error) => this.#sent === change && this.#refuse(error),
		);
	}

	#acknowledge(change, made) {
		this.#queue.shift();
		this.#base = applyEdits(this.#base, change.edits);
		[this.#sent, this.#refusals] = [null, 0];
		if (!this.#isOvertaken) return this.#others(made.edits, made);
		this.bufferVersion = null; // a whole text follows
		this.#isOvertaken = false;
		return this.#keep();
	}

	#refuse(error) {
		if (error.code === "CONNECTION_LOST") return undefined; // the next connection sends it again, by its name
		this.#sent = null;
		this.#isOvertaken = false;
		this.#refusals += 1;
		if (error.code === "BUFFER_CLOSED") return this.#refusals < MOST_REFUSALS ? this.#reopen() : this.#fail(error);
		this.bufferVersion = null; // a whole text follows, and on top of it the change is tried again
		if (error.code === "RESYNC") return undefined;
		this.#finish(error);
		return this.emit("problem", error);
	}

	/** Whether the text can be sent: half a pair waits for its other half, and a CR becomes LF. */
	#isWhole() {
		if (sendable(this.text) === this.text) return true;
		this.#timer ??= setTimeout(() => this.#mend(), this.text.isWellFormed() ? 0 : HALF_PAIR_MS);
		return false;
	}

	#mend() {
		clearTimeout(this.#timer);
		this.#timer = null;
		const edits = diffEdits(this.text, sendable(this.text));
		if (!edits.length) return this.#pump();
		this.text = applyEdits(this.text, edits);
		this.#unsent = compose(this.#unsent, edits);
		this.emit("edits", { edits, actor: null, reason: "mended" });
		return this.#pump();
	}

	async #settled() {
		if (this.live.state !== "connected") throw lost();
		this.#refusals = Math.min(this.#refusals, MOST_REFUSALS - 1);
		this.#mend();
		if (!this.pending && this.#isReady) return;
		await new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
	}

	#finish(error) {
		for (const { resolve, reject } of this.#waiting.splice(0)) (error ? reject : resolve)(error);
	}

	#rename(path) {
		this.live.storage?.removeItem(KEPT + this.path);
		this.live.documents.delete(this.path);
		this.live.documents.set((this.path = path), this);
		this.#keep();
	}

	#keep() {
		const { path, handle, bufferVersion, live } = this;
		const kept = { load: live.load, path, handle, document: this.#document, buffer_version: bufferVersion };
		const text = { base: this.#base, clean: this.#clean, queue: this.#queue, unsent: this.#unsent };
		const wasKept = this.isKept;
		try {
			if (this.pending) live.storage?.setItem(KEPT + path, JSON.stringify({ ...kept, ...text }));
			else live.storage?.removeItem(KEPT + path);
			this.isKept = true;
		} catch {
			live.storage.removeItem(KEPT + path); // of an older state something would be sent twice
			this.isKept = false;
			const told = "This window's storage is full: a reload now loses what you typed and the server does not have.";
			if (wasKept) this.emit("problem", new LiveError(told, { code: "NOT_KEPT" }));
		}
	}
}

const lost = () => new LiveError("There is no connection to the server.");

function randomName() {
	return Array.from(crypto.getRandomValues(new Uint32Array(4)), (each) => each.toString(36)).join("-");
}

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

/** True if a load of the page has ended: it holds a lock until then. Timers would not do: a busy page runs them late. */
async function isOver(load) {
	for (let waited = 0; waited < CLAIM_MS; waited += CLAIM_STEP_MS) {
		const { held } = (await navigator.locks?.query().catch(() => null)) ?? { held: [] };
		if (!held.some(({ name }) => name === LOCK + load)) return true;
		await new Promise((resolve) => setTimeout(resolve, CLAIM_STEP_MS));
	}
	return false;
}

const sendable = (text) => text.toWellFormed().replace(/\r\n?/g, "\n");

const isPair = (text, at) => (text.charCodeAt(at - 1) & 0xfc00) === 0xd800 && (text.charCodeAt(at) & 0xfc00) === 0xdc00;

const weightOf = (edits) => edits.reduce((sum, each) => sum + each.end - each.start + each.text.length, 0);

const additions = (edits) => edits.filter((each) => each.text).map(({ end, text }) => ({ start: end, end, text }));

/** Return edits that replace whole pairs of surrogates of a text, where they replaced halves. */
function aroundPairs(text, edits) {
	return edits.map((edit) => {
		const [start, end] = [edit.start - isPair(text, edit.start), edit.end + isPair(text, edit.end)];
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
			if (room < 2 || parts.at(-1).length === MOST_EDITS) [room, moved] = [MOST_UNITS, shift, parts.push([])];
			const most = Math.min(rest.length, room);
			const cut = most - isPair(rest, most);
			parts.at(-1).push({ start: from + moved, end: end + moved, text: rest.slice(0, cut) });
			[room, shift, from, rest] = [room - cut, shift + cut - (end - from), end, rest.slice(cut)];
		} while (rest);
	}
	return parts;
}

/** Return a text with edits of it done. */
export function applyEdits(text, edits) {
	let [made, at] = ["", 0];
	for (const edit of edits) {
		made += text.slice(at, edit.start) + edit.text;
		at = edit.end;
	}
	return made + text.slice(at);
}

/**
 * Return edits of a text as edits of what other edits of it leave. What either side adds stays.
 * @param {boolean} isFirst Whether the new text of `edits` stands first where both have some in one place.
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
	const [left, made] = [[], []];
	let [at, next, from, added] = [0, 0, 0, ""];
	for (const { start, end, text } of first) {
		left.push({ start: at, end: start }, { start: 0, end: text.length, text });
		at = end;
	}
	left.push({ start: at, end: Infinity });
	const take = (size, isKept) => {
		for (let rest = size; rest > 0; ) {
			const { start, end: most, text } = left[next];
			const end = Math.min(most, start + rest);
			rest -= end - start;
			if (isKept && text !== undefined) added += text.slice(start, end);
			else if (isKept && start < end) {
				if (start > from || added) made.push({ start: from, end: start, text: added });
				[from, added] = [end, ""];
			}
			if (end < most) left[next].start = end;
			else next += 1;
		}
	};
	at = 0;
	for (const { start, end, text } of second) {
		take(start - at, true);
		take(end - start, false);
		added += text;
		at = end;
	}
	take(Infinity, true);
	return made;
}

/** Return small edits that make one text of another: of the lines that differ, what differs in them. */
export function diffEdits(old, fresh) {
	if (old === fresh) return [];
	const [before, after] = [old, fresh].map((text) => text.match(/[^\n]*\n|[^\n]+$/g) ?? []);
	const made = [];
	let [x, y, at] = [0, 0, 0];
	for (const [nextX, nextY, size] of [...commonRuns(before, after), [before.length, after.length, 0]]) {
		const [gone, added] = [before.slice(x, nextX).join(""), after.slice(y, nextY).join("")];
		const [head, tail] = commonEnds(gone, added);
		const edit = { start: at + head, end: at + gone.length - tail, text: added.slice(head, added.length - tail) };
		if (gone !== added) made.push(edit);
		[x, y] = [nextX + size, nextY + size];
		at += gone.length + before.slice(nextX, x).join("").length;
	}
	return made;
}

/** Return how many units two texts share at their ends, surrogates in pairs. */
function commonEnds(one, other) {
	const [most, [last, otherLast]] = [Math.min(one.length, other.length), [one.length, other.length]];
	let [head, tail] = [0, 0];
	while (head < most && one.charCodeAt(head) === other.charCodeAt(head)) head += 1;
	if (isPair(one, head) || isPair(other, head)) head -= 1;
	while (tail < most - head && one.charCodeAt(last - 1 - tail) === other.charCodeAt(otherLast - 1 - tail)) tail += 1;
	if (isPair(one, last - tail) || isPair(other, otherLast - tail)) tail -= 1;
	return [head, tail];
}

/** Return the runs of lines that two texts share: [place, place in the other, lines]. Source: Myers (1986). */
function commonRuns(one, other) {
	const ends = new Map([[1, { x: 0 }]]); // how far each diagonal was followed, and over which runs
	for (let steps = 0; steps <= MOST_STEPS; steps += 1) {
		for (let diagonal = -steps; diagonal <= steps; diagonal += 2) {
			const [above, left] = [ends.get(diagonal + 1), ends.get(diagonal - 1)];
			const isDown = diagonal === -steps || (diagonal < steps && left.x < above.x);
			const start = isDown ? above.x : left.x + 1;
			let x = start;
			while (x < one.length && x - diagonal < other.length && one[x] === other[x - diagonal]) x += 1;
			let end = { x, run: [start, start - diagonal, x - start], back: isDown ? above : left };
			ends.set(diagonal, end);
			if (x < one.length || x - diagonal < other.length) continue;
			const runs = [];
			for (; end.run; end = end.back) if (end.run[2]) runs.unshift(end.run);
			return runs;
		}
	}
	return [];
}
