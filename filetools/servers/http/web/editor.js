/** The editor: Monaco, tabs, saving, and the bar with the state of the file in front. */

import { Binding } from "./binding.js";
import { Others } from "./carets.js";
import { make } from "./elements.js";
import { monaco, PLAIN } from "./monaco.js";
import { isViewed, readOnlyView } from "./views.js";

const TABS = "filetools-tabs";
const LARGE_CHARACTERS = 1_000_000;
const ENDS = { lf: "LF", crlf: "CRLF", cr: "CR", mixed: "mixed line ends", none: "LF" };
const KEYS = `<dl>
<dt><kbd>Ctrl+S</kbd></dt><dd>save</dd>
<dt><kbd>Alt+W</kbd></dt><dd>close the file</dd>
<dt><kbd>Alt+Page Up, Alt+Page Down</kbd></dt><dd>previous file, next file</dd>
<dt><kbd>F6, Shift+F6</kbd></dt><dd>next part of the page, previous part</dd>
<dt><kbd>F8</kbd></dt><dd>answer an agent's question</dd>
<dt><kbd>Ctrl+M</kbd></dt><dd>let Tab leave the text</dd>
</dl>`;
const OPTIONS = { ...PLAIN, fixedOverflowWidgets: true, fontSize: 13, glyphMargin: false, lineDecorationsWidth: 12, model: null };

const nameOf = (path) => path.split("/").at(-1);

class Tab {
	document = null;
	binding = null;
	others = null;
	view = null;
	task = ""; // "saving …" while it lasts
	isAsked = false; // whether the person is asked about closing it
	stops = [];

	constructor(path) {
		this.path = path;
		this.element = make("div", { role: "tab", tabindex: -1, "aria-selected": false, "aria-controls": "editor" });
		this.element.append(make("span"), make("i"), make("b", { "aria-hidden": true, title: `Close ${path}` }, "×"));
	}

	get dirty() {
		return this.document?.dirty ?? false;
	}

	tell(isActive) {
		const [name, dirt] = this.element.children;
		name.textContent = nameOf(this.path);
		dirt.textContent = this.dirty ? "●" : "";
		const state = [this.dirty && "not saved", this.document?.deleted && "deleted"].filter(Boolean).join(", ");
		this.element.setAttribute("aria-label", state ? `${nameOf(this.path)}, ${state}` : nameOf(this.path));
		this.element.setAttribute("aria-selected", isActive);
		this.element.tabIndex = isActive ? 0 : -1;
		this.element.title = this.path;
		const deleted = this.document?.deleted ?? false;
		Object.assign(this.element.dataset, { path: this.path, dirty: this.dirty, deleted });
	}

	dispose() {
		for (const stop of this.stops) stop();
		clearTimeout(this.timer);
		this.others?.dispose();
		this.binding?.dispose();
		this.element.remove();
	}
}

export class Editor {
	tabs = [];
	active = null;
	monaco = monaco;
	#parts;
	code = null;

	constructor(element, context) {
		Object.assign(this, context);
		this.#parts = this.#lay(element);
		this.monaco.then((monaco) => this.#start(monaco));
		addEventListener("keydown", (event) => this.#key(event), true);
		addEventListener("resize", () => this.active?.element.scrollIntoView({ block: "nearest", inline: "nearest" }));
		this.live.on("state", () => this.#tell());
		this.live.on("snapshot", () => this.#tell());
		this.live.on("event", (event) => this.#hear(event));
		this.#restore();
	}

	/** Open a file in a tab of its own, or show the tab that it has. */
	async open(path, { focus = true } = {}) {
		const part = () => document.activeElement.closest("#tree") ?? document.activeElement;
		const at = part();
		let tab = this.tabs.find((each) => each.path === path);
		if (!tab) {
			tab = new Tab(path);
			this.tabs.push(tab);
			this.#parts.tabs.append(tab.element);
			tab.loading = this.#load(tab);
		}
		this.#show(tab);
		await tab.loading;
		if (tab.binding || tab.view) this.say("");
		const isStill = [at, document.body].includes(part()); // else the person has gone on elsewhere
		if (focus && isStill && this.active === tab) this.focus();
	}

	/** Close a tab; asks first where text would leave the screen that is in no file. Returns whether it is closed. */
	async close(path = this.active?.path) {
		const tab = this.tabs.find((each) => each.path === path);
		if (!tab || tab.isAsked || (tab.dirty && !(await this.#mayClose(tab)))) return false;
		try {
			const closed = await tab.document?.close();
			const kept = closed?.kept_version?.slice(0, 19);
			if (kept) this.say(`Closed ${tab.path}. Its text is kept as version ${kept}.`);
		} catch (error) {
			this.say(`${tab.path} stays open: ${error.message}`, { kind: "error" });
			return false;
		}
		this.#remove(tab);
		return true;
	}

	/** Save a text to its file; what others wrote there is merged in, or asked about. Returns whether it is saved. */
	async save(path = this.active?.path) {
		const tab = this.tabs.find((each) => each.path === path);
		if (!tab?.document || tab.task) return false;
		tab.task = "saving …";
		this.#tell();
		try {
			tab.binding.check();
			const saved = await this.#saved(tab);
			if (saved) this.say(`Saved ${tab.path}${saved.merged ? ", with what others wrote there" : ""}.`, { kind: "ok" });
			return saved !== null;
		} catch (error) {
			const isLost = error.code === "CONNECTION_LOST";
			const told = isLost ? "the connection was lost, perhaps after the file was written." : error.message;
			this.say(`Not saved: ${tab.path}: ${told.replace(/\.?$/, ".")} Your text stays here.`, { kind: "error" });
			return false;
		} finally {
			tab.task = "";
			this.#tell();
		}
	}

	focus() {
		if (this.active?.binding) this.code?.focus();
		else this.#parts[this.active ? "view" : "empty"].focus();
	}

	async #mayClose(tab) {
		this.#show(tab);
		tab.isAsked = true;
		const answer = await this.askInline({
			title: `${nameOf(tab.path)} is not saved`,
			text: "Its text is in this window and not in the file. What you discard is kept among the versions of the file.",
			actions: [
				{ label: "Save", value: "save", kind: "primary" },
				{ label: "Discard", value: "discard", kind: "danger" },
				{ label: "Cancel", value: "cancel" },
			],
		});
		tab.isAsked = false;
		return answer === "save" ? this.save(tab.path) : answer === "discard";
	}

	async #saved(tab, onConflict, encoding) {
		try {
			return await tab.document.save(onConflict, encoding);
		} catch (error) {
			const { base_version: base, current_version: current, character } = error.details ?? {};
			if (error.code === "ENCODING_ERROR" && character) {
				const answer = await this.askInline({
					title: `${tab.document.encoding.toUpperCase()} has no “${String.fromCodePoint(`0x${character.slice(2)}`)}”`,
					text: `It is in line ${error.details.line} of ${nameOf(tab.path)}.`,
					actions: [{ label: "Save as UTF-8", value: "utf-8", kind: "primary" }, { label: "Cancel", value: null }],
				});
				return answer && this.#saved(tab, onConflict, answer);
			}
			if (error.code !== "EDIT_CONFLICT") throw error;
			const answer = await this.askInline({
				title: `${nameOf(tab.path)} was changed in the same place`,
				text: `${error.message}.`,
				actions: [
					...(base && current ? [{ label: "Merge …", value: "merge", kind: "primary" }] : []),
					{ label: "Overwrite", value: "allow", kind: "danger" },
					{ label: "Cancel", value: "cancel" },
				],
			});
			if (answer === "merge" && !(await this.#merge(tab, base, current))) return null;
			return ["merge", "allow"].includes(answer) ? this.#saved(tab, "allow", encoding) : null;
		}
	}

	async #merge(tab, baseVersion, currentVersion) {
		const ours = tab.document.text;
		const versions = [baseVersion, currentVersion].map((version) => this.#textOf(tab.path, version));
		const [base, theirs] = await Promise.all(versions);
		const merged = await this.mergeDialog({ path: tab.path, base, ours, theirs });
		if (merged !== null) tab.binding.replace(ours, merged);
		return merged !== null;
	}

	/** Return the text of a version of a file, as LF text. */
	async #textOf(path, version) {
		let [text, offset] = ["", 1];
		while (offset) {
			const { success, data, error } = await this.server.json("POST", "/v1/tools/read_file", { path, version, offset });
			if (!success) throw new Error(error);
			text += data.content;
			offset = data.truncated ? data.next_offset : 0;
		}
		return text.replace(/\r\n?/g, "\n");
	}

	#lay(element) {
		const parts = {
			tabs: make("div", { id: "tabs", role: "tablist", "aria-label": "Open files" }),
			save: make("button", { type: "button", title: "Save (Ctrl+S)" }, "Save"),
			close: make("button", { type: "button", title: "Close (Alt+W)" }, "Close"),
			code: make("div", { class: "code" }),
			view: make("div", { class: "viewing", tabindex: -1 }),
			empty: make("div", { class: "empty", tabindex: -1 }, "Open a file from the tree to read and edit it here."),
			bar: make("div", { id: "file-bar", role: "group", tabindex: -1, "aria-label": "State of the file" }),
		};
		parts.empty.insertAdjacentHTML("beforeend", KEYS);
		const names = ["path", "state", "others", "who", "place", "newline", "encoding"];
		parts.facts = Object.fromEntries(names.map((name) => [name, make("span", { "data-fact": name })]));
		parts.bar.append(...Object.values(parts.facts));
		const place = make("div", { id: "editor", role: "tabpanel" }, parts.code, parts.view, parts.empty);
		parts.row = make("div", { id: "tab-row" }, parts.tabs, parts.save, parts.close);
		element.append(parts.row, place, make("div", { id: "asked" }), parts.bar); // what comes and goes is below the text, and does not move it
		parts.save.onclick = () => this.save();
		parts.close.onclick = () => this.close();
		parts.tabs.onclick = ({ target }) => {
			const tab = this.#tabOf(target);
			if (tab) target.localName === "b" ? this.close(tab.path) : this.open(tab.path);
		};
		parts.tabs.onauxclick = (event) => event.button === 1 && this.close(this.#tabOf(event.target)?.path);
		parts.tabs.onkeydown = (event) => this.#walk(event);
		return parts;
	}

	#start(monaco) {
		this.code = monaco.editor.create(this.#parts.code, OPTIONS);
		this.code.onDidChangeCursorPosition(() => this.#tellPlace());
		this.#show(this.active);
	}

	/** Open the tabs of the load before, and what it could not send. */
	#restore() {
		const { paths = [], active = null } = JSON.parse(sessionStorage.getItem(TABS) ?? "{}");
		const kept = this.live.kept().map((each) => each.path);
		for (const path of new Set([...paths, ...kept])) this.open(path, { focus: false });
		if (active && paths.includes(active)) this.open(active, { focus: false });
		if (kept.length) this.say(`What you typed before this page was loaded again is kept: ${kept.join(", ")}.`);
		this.#tell();
	}

	async #load(tab) {
		try {
			const [monaco, document] = await Promise.all([this.monaco, this.live.open(tab.path)]);
			if (this.tabs.includes(tab) && !tab.document) this.#bind(tab, monaco, document);
			else if (!this.tabs.some((each) => each.path === tab.path)) await document.close();
		} catch (error) {
			if (!isViewed(error)) return this.#fail(tab, error);
			const view = await readOnlyView(this.server, tab.path, error).catch((failed) => this.#fail(tab, failed));
			if (view) tab.view = view;
		}
		if (this.active === tab) this.#show(tab);
	}

	#fail(tab, error) {
		this.say(`${tab.path} cannot be opened: ${error.message}`, { kind: "error" });
		if (!tab.view) this.#remove(tab);
	}

	#bind(tab, monaco, document) {
		tab.document = document;
		tab.view = null;
		tab.binding = new Binding(monaco, document, (ranges, actor) => tab.others.show(ranges, actor));
		tab.others = new Others(monaco, tab.binding.model, () => this.#tell());
		tab.stops = [
			document.on("state", () => this.#follow(tab)),
			document.on("problem", (error) => this.say(`${tab.path}: ${error.message}`, { kind: "error" })),
		];
	}

	#follow(tab) {
		if (tab.path !== tab.document.path) {
			this.say(`${tab.path} is now ${tab.document.path}.`);
			tab.path = tab.document.path;
			tab.binding.rename();
		}
		this.#tell();
	}

	/** A file that is only viewed has changed: perhaps it can be edited now. */
	#hear({ event, path }) {
		const tab = this.tabs.find((each) => each.view && each.path === path);
		if (!tab || !/^file:(created|modified)$/.test(event)) return;
		clearTimeout(tab.timer);
		tab.timer = setTimeout(() => (tab.loading = this.#load(tab)), 500);
	}

	#show(tab) {
		if (this.active !== tab) this.#leave();
		this.active = tab;
		const { code, view, empty } = this.#parts;
		[code.hidden, view.hidden, empty.hidden] = [!tab?.binding, !tab || tab.binding, tab];
		view.replaceChildren(...(tab && !tab.binding ? [tab.view ?? `Opening ${tab.path} …`] : []));
		if (this.code && tab?.binding && tab.binding.editor !== this.code) {
			this.code.updateOptions({ bracketPairColorization: { enabled: tab.document.text.length < LARGE_CHARACTERS } });
			tab.binding.attach(this.code);
			tab.others.attach(this.code);
		}
		tab?.element.scrollIntoView({ block: "nearest", inline: "nearest" });
		this.#tell();
	}

	#leave() {
		if (!this.active?.binding?.editor) return;
		this.active.others.attach(null);
		this.active.binding.detach();
		this.code.setModel(null);
	}

	#remove(tab) {
		const place = this.tabs.indexOf(tab);
		if (place < 0) return;
		const isShown = this.active === tab;
		this.tabs.splice(place, 1);
		if (isShown) this.#show(this.tabs[Math.min(place, this.tabs.length - 1)] ?? null);
		tab.dispose();
		this.#tell();
		if (isShown && document.activeElement.matches("body, #main *")) this.focus(); // else the person is elsewhere
	}

	#tell() {
		const { row, save, close, bar } = this.#parts;
		for (const tab of this.tabs) tab.tell(tab === this.active);
		const tab = this.active;
		[save.disabled, row.hidden, bar.hidden] = [!tab?.document, !tab, !tab];
		if (tab) close.setAttribute("aria-label", `Close ${nameOf(tab.path)}`);
		this.title({ file: tab ? `${tab.dirty ? "● " : ""}${nameOf(tab.path)}` : "" });
		sessionStorage.setItem(TABS, JSON.stringify({ paths: this.tabs.map((each) => each.path), active: tab?.path }));
		this.#tellFacts(tab);
	}

	#tellFacts(tab) {
		const { path, state, others, newline, encoding } = this.#parts.facts;
		const open = tab?.document;
		path.textContent = tab?.path.split("/").join(" › ") ?? "";
		state.textContent = open ? this.#stateOf(tab) : "read-only";
		const names = tab?.others?.names ?? [];
		others.textContent = names.length ? `editing now: ${names.join(", ")}` : "";
		newline.textContent = open ? (ENDS[open.newline] ?? "") : "";
		encoding.textContent = open ? `${(open.encoding ?? "utf-8").toUpperCase()}${open.bom ? " with BOM" : ""}` : "";
		this.#tellPlace();
	}

	#stateOf({ document, task, dirty }) {
		if (task) return task;
		if (document.pending) return this.live.state === "connected" ? "sending …" : "kept in this window, not sent";
		if (document.deleted && document.version) return "deleted: Save writes it again";
		if (document.behind) return "not saved; the file was changed in the same place";
		return dirty ? "not saved" : "saved";
	}

	#tellPlace() {
		const { place, who } = this.#parts.facts;
		const at = this.active?.binding ? this.code?.getPosition() : null;
		place.textContent = at ? `Ln ${at.lineNumber}, Col ${at.column}` : "";
		who.textContent = at ? this.active.others.at(at.lineNumber) : "";
	}

	#tabOf(target) {
		return this.tabs.find((each) => each.element.contains(target));
	}

	#step(by) {
		const place = this.tabs.indexOf(this.active) + by;
		return this.tabs.at(place % this.tabs.length);
	}

	/** Keys of the whole page, taken before Monaco sees them. */
	#key(event) {
		const { altKey, shiftKey, key } = event;
		const isControl = event.ctrlKey || event.metaKey;
		const isSave = isControl && !shiftKey && !altKey && key.toLowerCase() === "s";
		const isAlt = altKey && !isControl && !shiftKey;
		const by = { PageUp: -1, PageDown: 1 }[key];
		const isBehind = document.querySelector("dialog[open]");
		if (isSave) isBehind || this.save();
		else if (isBehind) return;
		else if (isAlt && event.code === "KeyW") this.close();
		else if (isAlt && by && this.active) this.open(this.#step(by).path);
		else return;
		event.preventDefault();
		event.stopPropagation();
	}

	#walk(event) {
		const places = { ArrowLeft: this.#step(-1), ArrowRight: this.#step(1), Home: this.tabs[0], End: this.tabs.at(-1) };
		const tab = places[event.key];
		if (tab) this.open(tab.path, { focus: false }).then(() => tab.element.focus());
		else if (event.key === "Delete") this.close();
		else if (event.key === "Enter" || event.key === " ") this.focus();
		else return;
		event.preventDefault();
	}
}
