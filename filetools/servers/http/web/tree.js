/** The tree of files: folders loaded page by page, kept right by events; only rows in view are in the page. */

import { make } from "./elements.js";

const ROW = 22;
const MARGIN = 12; // rows above and below the view
const BATCH_MS = 100;
const SLICE_MS = 20; // of work on events, before the browser may paint
const MOST_REVEALED = 20; // created files of one batch that are opened to; of more only the last
const FOUND_MS = 3000; // after connecting: a server just started finds older files
const MARK_MS = 8000;
const MIRROR_MS = 1000;
const FILTER_MS = 150;
const WRITING = /^(write|edit|append|insert|apply|move|copy|delete|create|undo)/;
const UNSEEN = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu; // breaks lines, or turns text around

const READ = ":hover, :focus-within"; // then the tree must not move by itself
const MARKUP = `<div id="tree-head">
<input id="filter" type="search" placeholder="Filter files" aria-label="Filter files" autocomplete="off" spellcheck="false">
<div id="tree-tools" role="toolbar" aria-label="Files">
<button type="button" title="New file">+</button>
<button type="button" title="New folder">⊞</button>
<button type="button" title="Rename">✐</button>
<button type="button" title="Delete">−</button>
</div></div><form id="tree-asking" hidden></form><p id="tree-note" role="status"></p>
<div id="tree" role="tree" aria-label="Files" tabindex="0"><div class="sheet" role="presentation"></div></div>`;

const parentOf = (path) => path.slice(0, Math.max(path.lastIndexOf("/"), 0));
const nameOf = (path) => path.slice(path.lastIndexOf("/") + 1);
const isWithin = (path, folder) => `${path}/`.startsWith(`${folder}/`);
const shown = (path) => path.replace(UNSEEN, (each) => `⟨${each.codePointAt(0).toString(16).padStart(4, "0")}⟩`);

/** Order in a folder, as the server lists: folders first, then by name. */
function compare(one, other) {
	if (one.isFolder !== other.isFolder) return one.isFolder ? -1 : 1;
	if (one.key !== other.key) return one.key < other.key ? -1 : 1;
	return one.name < other.name ? -1 : Number(one.name > other.name);
}

class Node {
	isOpen = false;
	children = null; // in order; null: never listed
	cursor = null; // where the page begins that is not loaded yet
	total = 0;
	loading = null;
	missed = null; // what happened in it while it was being listed
	error = null;
	tail = null; // the row of what is not loaded

	constructor(name, isFolder, parent = null) {
		this.isFolder = isFolder;
		this.move(name, parent);
	}

	move(name, parent) {
		Object.assign(this, { name, parent, key: name.toLowerCase() });
	}

	get path() {
		return this.parent?.parent ? `${this.parent.path}/${this.name}` : this.name;
	}

	get level() {
		return this.parent ? this.parent.level + 1 : 0;
	}

	/** Where a child stands, or would. */
	placeOf(child) {
		let [low, high] = [0, this.children.length];
		while (low < high) {
			const middle = (low + high) >> 1;
			if (compare(this.children[middle], child) < 0) low = middle + 1;
			else high = middle;
		}
		return low;
	}

	child(name) {
		if (!this.children) return undefined;
		const places = [true, false].map((isFolder) => this.placeOf({ name, isFolder, key: name.toLowerCase() }));
		return places.map((place) => this.children[place]).find((each) => each?.name === name);
	}

	/** Return what is at a path, or the nearest known folder above it. */
	nearest(path) {
		const [name, ...rest] = path.split("/");
		const next = this.child(name);
		return next && rest.length ? next.nearest(rest.join("/")) : (next ?? this);
	}

	addRows(rows) {
		for (const child of this.children ?? []) {
			rows.push(child);
			if (child.isOpen) child.addRows(rows);
		}
		if (this.cursor || this.loading || this.error) rows.push((this.tail ??= { more: this }));
		return rows;
	}
}

export class Tree {
	#root = new Node("", true);
	#rows = [];
	#isStale = true; // whether the rows are others now
	#found = null; // rows of the filter, or null
	#active = null;
	#goal = null; // what to scroll to
	#drawn = new Map(); // row -> element
	#frame = 0;
	#batch = [];
	#created = []; // paths of the batch that may be opened to
	#timer = null;
	#marks = new Map(); // path -> {kind, actor, ends}, oldest first
	#markTimer = null;
	#writing = new Map(); // call -> path
	#dirty = new Set(); // paths, as the next
	#unmirrored = new Set();
	#mirrors = [];
	#mirrorTimer = null;
	#since = 0;

	constructor(element, context) {
		Object.assign(this, context);
		this.#root.isOpen = true;
		this.#lay(element);
		this.live.on("event", (event) => this.#hear(event));
		this.live.on("snapshot", (snapshot) => this.#begin(snapshot));
		this.live.on("look-again", () => this.refresh());
		if (this.live.welcome) this.#begin(this.live.welcome);
	}

	/** Open the folders above a path, scroll to it, and make it the active row. */
	async reveal(path) {
		this.#go(await this.#openTo(path, true));
	}

	focus() {
		if (!this.#active) this.#go(this.#rows.find((row, place) => !row.more && place * ROW >= this.tree.scrollTop));
		(this.#drawn.get(this.#active) ?? this.tree).focus({ preventScroll: true });
	}

	async refresh(folder = this.#root) {
		await this.#load(folder, true);
		for (const child of folder.children) if (child.children) await this.refresh(child);
	}

	#lay(element) {
		element.innerHTML = MARKUP;
		const part = (name) => element.querySelector(name);
		[this.filter, this.asking, this.note, this.tree, this.sheet] = ["#filter", "form", "p", "#tree", ".sheet"].map(part);
		const works = [() => this.#ask("file"), () => this.#ask("folder"), () => this.#ask("rename"), () => this.#askDelete()];
		element.querySelectorAll("button").forEach((button, place) => Object.assign(button, { ariaLabel: button.title, onclick: works[place] }));
		this.tree.onscroll = () => this.#draw();
		this.tree.onkeydown = (event) => this.#key(event);
		this.tree.onclick = ({ target, detail }) => {
			const node = target.closest("[role=treeitem]")?.row;
			if (detail < 2 || !node?.isFolder) this.#use(node, detail > 1);
		};
		this.tree.onfocus = () => this.focus();
		this.tree.addEventListener("focusin", ({ target }) => (this.#active = target.row ?? this.#active));
		new ResizeObserver(() => this.#draw()).observe(this.tree);
		this.filter.oninput = () => {
			clearTimeout(this.filterTimer);
			this.filterTimer = setTimeout(() => this.#filter(), FILTER_MS);
		};
		this.filter.onkeydown = (event) => {
			if (event.key === "ArrowDown") this.focus();
			else if (event.key === "Escape") this.#clear();
			else return;
			event.preventDefault();
		};
	}

	#begin(snapshot) {
		this.#since = performance.now();
		this.#dirty = new Set(snapshot.documents.filter((each) => each.dirty).map((each) => each.path));
		const runs = snapshot.runs.filter((run) => WRITING.test(run.tool) && run.arguments.path);
		this.#writing = new Map(runs.map((run) => [run.id, run.arguments.path]));
		this.#seeMirrors(snapshot.mirror);
		if (this.#root.children === null) this.#load(this.#root);
		for (const row of this.#rows) if (row.more?.error) this.#load(row.more, true);
	}

	/** List the next page of a folder, or again as much as is loaded. */
	#load(folder, isAgain = false) {
		if (folder.loading && !isAgain) return folder.loading;
		const work = Promise.resolve(folder.loading).then(() => this.#list(folder, isAgain)).then(() => {
			if (folder.loading === work) folder.loading = null;
			this.#change();
		});
		folder.loading = work;
		this.#change();
		return work;
	}

	async #list(folder, isAgain) {
		const { path } = folder;
		const least = isAgain ? (folder.children?.length ?? 0) : 0;
		const entries = [];
		folder.missed = [];
		let [page, failure] = [{ next_cursor: isAgain ? null : folder.cursor }, null];
		try {
			do {
				const from = page.next_cursor ? `&cursor=${encodeURIComponent(page.next_cursor)}` : "";
				page = await this.server.json("GET", `/v1/list?path=${encodeURIComponent(path)}&limit=1000${from}`);
				for (const entry of page.entries) entries.push(entry);
			} while (page.next_cursor && entries.length < least);
		} catch (error) {
			failure = error;
		}
		const { missed } = folder;
		folder.missed = null;
		if (folder.path !== path) return this.#list(folder, true); // moved meanwhile
		if (failure?.status === 404 && path) return this.#remove(path);
		folder.error = failure?.message ?? null;
		folder.children ??= [];
		if (failure) return undefined;
		const listed = entries.map(({ name, type, addressable }) => {
			const [known, isFolder] = [folder.child(name), type === "directory"];
			return Object.assign(known?.isFolder === isFolder ? known : new Node(name, isFolder, folder), { addressable });
		});
		folder.children = [...new Set(isAgain ? listed : [...folder.children, ...listed])].sort(compare);
		Object.assign(folder, { cursor: page.next_cursor ?? null, total: page.total });
		for (const event of missed) this.#take(event);
		return undefined;
	}

	/** Open the folders above a path; returns what is there, if it is loaded, or `isFar`. */
	async #openTo(path, isFar = false) {
		let node = this.#root;
		for (const name of path.split("/")) {
			if (!node.children) await this.#load(node);
			while (isFar && !node.child(name) && node.cursor && !node.error) await this.#load(node);
			this.#setOpen(node, true);
			const next = node.child(name);
			if (!next) return null;
			node = next;
		}
		return node;
	}

	#hear(event) {
		const { event: name, path, tool_call_id: call } = event;
		if (name.startsWith("agent:tool:")) {
			if (name.endsWith("started") && path && WRITING.test(event.tool_name)) this.#writing.set(call, path);
			else this.#writing.delete(call);
			if (event.result?.mirror === "pending") this.#lookAtMirrors(event.result.path);
		} else if (name.startsWith("buffer:")) {
			const isDirty = this.#dirty.delete(event.old_path ?? path);
			if (event.dirty ?? (isDirty && /opened|moved|behind/.test(name))) this.#dirty.add(path);
		} else if (/^(file|directory):(created|modified|deleted|renamed)$/.test(name)) this.#batch.push(event);
		else if (name.startsWith("sync:")) this.#lookAtMirrors(event.file);
		this.#timer ??= setTimeout(() => this.#apply(), BATCH_MS);
	}

	#apply() {
		const ends = performance.now() + SLICE_MS;
		let done = 0;
		for (; done < this.#batch.length && performance.now() < ends; done += 1) {
			const event = this.#batch[done];
			this.#take(event);
			const isFound = event.source === "external" && performance.now() - this.#since < FOUND_MS;
			if (event.event === "file:created" && !isFound) this.#created.push(event.path);
		}
		this.#batch.splice(0, done);
		this.#timer = this.#batch.length ? setTimeout(() => this.#apply()) : null;
		const created = this.#timer ? [] : this.#created.splice(0);
		for (const path of created.length > MOST_REVEALED ? created.slice(-1) : created) {
			this.#openTo(path).then((node) => path === created.at(-1) && !this.tree.matches(READ) && (this.#goal = node));
		}
		this.#draw();
	}

	#take(event) {
		const { path, old_path: old } = event;
		const [kind, what] = event.event.split(":");
		for (const each of old ? [old, path] : [path]) this.#root.nearest(parentOf(each)).missed?.push(event);
		const active = this.#active;
		const moved = what === "renamed" ? this.#remove(old) : null;
		if (moved) this.#active = active;
		if (what === "deleted") this.#remove(path);
		else if (what !== "modified") this.#insert(path, kind === "directory", moved);
		if (what === "deleted") return void this.#unmirrored.delete(path);
		if (this.#mirrors.some((mirror) => mirror.state !== "ready")) this.#unmirrored.add(path);
		this.#marks.delete(path); // so that the oldest stands first
		this.#marks.set(path, { kind: what === "modified" ? "changed" : "new", actor: event.actor.id, ends: performance.now() + MARK_MS });
		this.#markTimer ??= setTimeout(() => this.#forgetMarks(), MARK_MS);
	}

	#forgetMarks() {
		this.#markTimer = null;
		for (const [path, { ends }] of this.#marks) {
			if (ends > performance.now()) {
				this.#markTimer = setTimeout(() => this.#forgetMarks(), ends - performance.now() + BATCH_MS);
				break;
			}
			this.#marks.delete(path);
		}
		this.#draw();
	}

	#seeMirrors(mirrors) {
		this.#mirrors = Object.values(mirrors);
		if (this.#mirrors.some(({ state, behind }) => behind || state !== "ready")) this.#lookAtMirrors();
		else this.#unmirrored.clear();
		this.#draw();
	}

	/** Ask soon how the mirrors stand; a path that is named is not in one of them. */
	#lookAtMirrors(path) {
		if (path) this.#unmirrored.add(path);
		this.#mirrorTimer ??= setTimeout(async () => {
			const status = await this.server.json("GET", "/v1/status").catch(() => null);
			this.#mirrorTimer = null;
			if (status) this.#seeMirrors(status.mirrors); // else the next snapshot tells
		}, MIRROR_MS);
	}

	/** Put a path where it belongs, as far as its folder is loaded, with new folders above. */
	#insert(path, isFolder, moved = null) {
		const above = parentOf(path);
		const folder = above ? this.#insert(above, true) : this.#root;
		if (!folder?.children) return null; // it is listed when its folder is opened
		const name = nameOf(path);
		const known = folder.child(name);
		if (known?.isFolder === isFolder && !moved) return known;
		if (known) this.#remove(path);
		const node = moved ?? new Node(name, isFolder, folder);
		node.move(name, folder);
		if (node.cursor) this.#load(node, true); // a cursor is good for one path
		const place = folder.placeOf(node);
		folder.total += 1;
		if (place === folder.children.length && folder.cursor) return null; // on a page that is not loaded yet
		folder.children.splice(place, 0, node);
		this.#change();
		return node;
	}

	/** Take a path out; returns what was known of it. */
	#remove(path) {
		const node = this.#root.nearest(path);
		if (node.path !== path || node === this.#root) return null;
		const { parent } = node;
		const place = parent.placeOf(node);
		parent.children.splice(place, 1);
		parent.total -= 1;
		if (isWithin(this.#active?.path ?? "", path)) this.#active = parent.children[place] ?? parent.children[place - 1] ?? parent;
		this.#change();
		return node;
	}

	#change() {
		this.#isStale = true;
		this.#draw();
	}

	#draw() {
		this.#frame ||= requestAnimationFrame(() => {
			this.#frame = 0;
			this.#place();
			this.#drawRows();
			this.#tell();
		});
	}

	/** Bring the rows up to date; those which the person reads stay where they are. */
	#place() {
		const [top, before] = [this.tree.scrollTop, this.#rows];
		if (this.#isStale) this.#rows = this.#found ?? this.#root.addRows([]);
		this.#isStale = false;
		this.sheet.style.height = `${this.#rows.length * ROW}px`;
		if (before !== this.#rows && (top || this.tree.matches(READ))) {
			const first = Math.floor(top / ROW);
			const seen = before.slice(first, first + Math.ceil(this.tree.clientHeight / ROW));
			const kept = seen.findIndex((row) => this.#rows.includes(row));
			if (kept >= 0) this.tree.scrollTop = top + (this.#rows.indexOf(seen[kept]) - first - kept) * ROW;
		}
		const goal = this.#rows.indexOf(this.#goal) * ROW;
		if (goal >= 0) this.tree.scrollTop = Math.min(goal, Math.max(this.tree.scrollTop, goal + ROW - this.tree.clientHeight));
		this.#goal = null;
	}

	#drawRows() {
		const { scrollTop, clientHeight } = this.tree;
		const first = Math.max(0, Math.floor(scrollTop / ROW) - MARGIN);
		const last = Math.min(this.#rows.length, Math.ceil((scrollTop + clientHeight) / ROW) + MARGIN);
		const active = this.#rows.indexOf(this.#active);
		if (active < 0) this.#active = null;
		const places = Array.from({ length: last - first }, (_, place) => first + place);
		if (active >= 0 && active < first) places.unshift(active); // it has the focus, and must not lose it
		else if (active >= last) places.push(active);
		const focused = this.tree.contains(document.activeElement) ? document.activeElement : null;
		const writing = new Set(this.#writing.values());
		const drawn = new Map();
		for (const place of places) {
			const row = this.#rows[place];
			const element = this.#drawn.get(row) ?? Object.assign(make("div", { role: row.more ? "none" : "treeitem" }), { row });
			element.style.top = `${place * ROW}px`;
			if (row.more) this.#drawTail(element, row.more);
			else this.#drawRow(element, row, place, writing);
			drawn.set(row, element);
		}
		for (const [row, element] of this.#drawn) if (!drawn.has(row)) element.remove();
		let next = this.sheet.firstChild;
		for (const element of drawn.values()) {
			if (element === next) next = next.nextSibling;
			else this.sheet.insertBefore(element, next); // what stays may be focused, or clicked just now
		}
		this.#drawn = drawn;
		this.tree.tabIndex = this.#active ? -1 : 0;
		const isButton = focused?.isConnected && focused.localName === "button";
		if (focused && !isButton && document.activeElement !== drawn.get(this.#active)) this.focus();
	}

	/** Give a row what it shows, unless it shows that already. */
	#drawRow(element, row, place, writing) {
		const { path, parent } = row;
		const isActive = row === this.#active;
		const siblings = parent?.children ?? this.#rows;
		const facts = {
			"aria-level": Math.max(row.level, 1),
			"aria-selected": isActive,
			"aria-setsize": Math.max(siblings.length, parent?.cursor ? parent.total : 0),
			"aria-posinset": 1 + (parent ? parent.placeOf(row) : place),
			"data-path": path,
			class: isActive ? "active" : "",
			tabindex: isActive ? 0 : -1,
			title: shown(path),
		};
		if (row.isFolder && parent) facts["aria-expanded"] = row.isOpen;
		const badges = [];
		const add = (kind, said, sign) => badges.push([{ class: "badge", "data-badge": kind, role: "img", "aria-label": said, title: said }, sign]);
		const mark = this.#marks.get(path);
		if (mark) add(mark.kind, `${mark.kind}, by ${mark.actor}`, mark.kind === "new" ? "new" : mark.actor);
		if (writing.has(path)) add("writing", "being written", "✎");
		if (this.#dirty.has(path)) add("dirty", "not saved", "●");
		if (this.#unmirrored.has(path)) add("mirror", "not in the mirror yet", "⇅");
		const known = JSON.stringify([facts, badges]);
		if (element.known === known) return;
		element.known = known;
		for (const [name, value] of Object.entries(facts)) element.setAttribute(name, value);
		element.style.paddingLeft = `${8 + Math.max(row.level - 1, 0) * 14}px`;
		element.replaceChildren(
			make("span", { class: "twist", "aria-hidden": "true" }, row.isFolder ? (row.isOpen ? "▾" : "▸") : ""),
			make("span", { class: "name" }, make("bdi", {}, shown(parent ? row.name : path))),
			...badges.map(([attributes, sign]) => make("span", attributes, sign)),
		);
	}

	#drawTail(element, folder) {
		if (folder.cursor && !folder.error && !folder.loading) this.#load(folder);
		const text = folder.error ?? "Loading …";
		if (element.textContent.startsWith(text)) return;
		element.className = "more";
		element.style.paddingLeft = `${22 + folder.level * 14}px`;
		element.replaceChildren(text, " ", ...(folder.error ? [make("button", { type: "button" }, "Retry")] : []));
		if (folder.error) element.lastChild.onclick = () => this.#load(folder, true);
	}

	#tell() {
		const behind = this.#mirrors.reduce((sum, mirror) => sum + mirror.behind, 0);
		const words = behind ? [`Mirror: ${behind} behind`] : [];
		if (this.#found) words.unshift(`${this.#found.length.toLocaleString("en")}${this.hasMore ? " or more" : ""} found`);
		else if (this.#root.children?.length === 0 && !this.#root.error) words.unshift("This folder is empty. New files appear here as agents create them.");
		const text = words.join(" · ");
		if (this.note.textContent !== text) this.note.textContent = text;
		this.note.dataset.badge = behind ? "mirror" : "";
	}

	#use(node, focus = true) {
		if (!node) return;
		this.#active = node;
		if (!this.#isNamed(node)) return;
		if (!node.isFolder) this.onOpen(node.path, { focus });
		else if (this.#found) this.reveal(node.path).then(() => this.#clear());
		else this.#setOpen(node, !node.isOpen);
		this.#draw();
	}

	#setOpen(folder, isOpen) {
		folder.isOpen = isOpen;
		if (isOpen && folder.children === null) this.#load(folder);
		this.#change();
	}

	#key(event) {
		if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("button")) return;
		const rows = this.#rows.filter((row) => !row.more);
		const node = this.#active;
		const place = rows.indexOf(node);
		const page = Math.max(1, Math.floor(this.tree.clientHeight / ROW) - 1);
		const moves = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: rows.length - 1, PageDown: place + page, PageUp: place - page };
		if (event.key in moves) this.#go(rows[Math.min(Math.max(moves[event.key], 0), rows.length - 1)]);
		else if (event.key === "ArrowRight" && node?.isFolder) node.isOpen ? this.#go(node.children?.[0]) : this.#setOpen(node, true);
		else if (event.key === "ArrowLeft" && node?.isOpen) this.#setOpen(node, false);
		else if (event.key === "ArrowLeft") this.#go(node?.parent);
		else if (event.key === "Enter" || event.key === " ") this.#use(node);
		else if (event.key === "F2") this.#ask("rename");
		else if (event.key === "Delete") this.#askDelete();
		else if (event.key === "Escape" && this.#found) this.#clear();
		else return;
		event.preventDefault();
	}

	#go(node) {
		if (!node || node === this.#root) return;
		this.#active = this.#goal = node;
		this.#draw();
	}

	async #filter() {
		const words = this.filter.value.trim();
		if (!words) return this.#clear();
		const pattern = /[*?[]/.test(words) ? words : `*${words}*`;
		try {
			const found = await this.server.json("GET", `/v1/search?pattern=${encodeURIComponent(pattern)}&limit=1000`);
			if (this.filter.value.trim() !== words) return undefined;
			this.#found = found.entries.map(({ path, type, addressable }) => Object.assign(new Node(path, type === "directory"), { addressable }));
			this.hasMore = found.truncated;
			this.#go(this.#found[0]);
		} catch (error) {
			this.say(`The filter failed: ${error.message}`, { kind: "error" });
		}
		return this.#change();
	}

	#clear() {
		const path = this.#active?.path ?? "";
		this.filter.value = "";
		this.#found = null;
		this.#change();
		this.#go(this.#root.nearest(path));
	}

	/** Ask for a name, in a line above the tree. */
	#ask(kind) {
		const node = this.#active;
		const old = kind === "rename" && node ? node.path : "";
		if (kind === "rename" && !this.#isNamed(node)) return;
		const folder = node?.isFolder ? node.path : parentOf(node?.path ?? "");
		const label = old ? `New path of ${shown(old)}` : `Name of the new ${kind}`;
		const input = make("input", { "aria-label": label, placeholder: label, spellcheck: "false", autocomplete: "off" });
		input.value = old || (folder && `${folder}/`);
		const no = make("button", { type: "button" }, "Cancel");
		const end = () => {
			this.asking.hidden = true;
			this.focus();
		};
		no.onclick = end;
		this.asking.onkeydown = (event) => {
			if (event.key !== "Escape") return;
			event.stopPropagation();
			end();
		};
		this.asking.onsubmit = async (event) => {
			event.preventDefault();
			const path = input.value.trim().replace(/\/+/g, "/");
			try {
				if (/\\|^(.*\/)?\.\.?(\/.*)?$/.test(path)) throw new Error(`“${path}” cannot be a name: name a path inside the root, without \\, . and ..`);
				if (kind === "file") await this.server.create(path);
				else await this.#operate(old ? { op: "move", source: old, destination: path } : { op: "create_directory", path });
			} catch (error) {
				return this.#refused(error);
			}
			this.#insert(path, old ? node.isFolder : kind === "folder", this.#remove(old));
			await this.reveal(path);
			end();
			if (kind === "file") this.onOpen(path);
		};
		this.asking.replaceChildren(make("label", {}, label, input), make("button", {}, old ? "Rename" : "Create"), no);
		this.asking.hidden = false;
		input.focus();
		input.setSelectionRange(old ? parentOf(old).length + old.includes("/") : input.value.length, input.value.length);
	}

	async #askDelete() {
		if (!this.#isNamed(this.#active)) return;
		const { path, isFolder } = this.#active;
		const actions = [{ label: "Delete", value: "delete", kind: "danger" }, { label: "Cancel", value: null }];
		const question = { title: `Delete ${shown(path)}?`, text: "“filetools undo” brings it back.", actions, isAwaited: true };
		if ((await this.askInline(question)) !== "delete") return;
		await this.#operate({ op: "delete", path, recursive: isFolder }).then(() => this.#remove(path), (error) => this.#refused(error));
	}

	/** Whether a path leads to what a row shows; another file's might look the same. */
	#isNamed(node) {
		if (node?.addressable === false) this.say(`${shown(node.name)}: no path can name this. Rename it in a shell.`, { kind: "error" });
		return Boolean(node) && node.addressable !== false;
	}

	#refused({ status, message }) {
		this.say(status === 412 ? "It exists already. Choose another name." : message, { kind: "error" });
	}

	async #operate(operation) {
		await this.server.json("POST", "/v1/transactions", { operations: [operation] });
		this.say("");
	}
}
