/** What a person is asked: approvals and conflicts, one at a time, never in the midst of typing. */

import { hueOf, nameOf } from "./carets.js";
import { make } from "./elements.js";
import { applyEdits, diffEdits, transform } from "./live.js";
import { monaco, PLAIN } from "./monaco.js";

const TYPING_MS = 1500; // do not interrupt a person who pressed a key this recently
const GUARD_MS = 500; // a key that was meant for the text answers nothing
const STEP_MS = 2000;
const OPTIONS = { ...PLAIN, tabFocusMode: true, links: false }; // report an error if the text goes
const REASONS = {
	protected: "This file can make other programs run code.",
	conflict: "It overlaps with unsaved text.",
	prompt: "Agents ask here before they change files.",
};

/** Return a merge to begin with: ours, and what theirs changed elsewhere; and how many of their changes are left out. */
export function begunMerge(base, ours, theirs) {
	if (base === null || base === undefined) return { text: ours, left: 0 };
	const mine = diffEdits(base, ours);
	const all = diffEdits(base, theirs);
	const meets = (edit) => mine.some((own) => own.start <= edit.end && edit.start <= own.end);
	const clean = all.filter((edit) => !meets(edit));
	return { text: applyEdits(ours, transform(clean, mine, false)), left: all.length - clean.length };
}

/** Keep an answer's buttons off for a moment; returns what does so again, for a letter of the text. */
function guard(row) {
	let timer;
	const wait = () => {
		clearTimeout(timer);
		for (const button of row.children) button.disabled = true;
		timer = setTimeout(() => [...row.children].forEach((button) => (button.disabled = false)), GUARD_MS);
	};
	wait();
	return wait;
}

function rowOf(actions) {
	const buttons = actions.map(([label, onclick, kind = ""]) => Object.assign(make("button", { type: "button", class: kind }, label), { onclick }));
	return make("div", { class: "question-actions" }, ...buttons);
}

const isLetter = ({ key, ctrlKey, metaKey, altKey }) => key.length === 1 && !ctrlKey && !metaKey && !altKey;

export class Questions {
	#queue = new Map(); // approval id -> {request, ends, isOwn, box, draft, isMerging}; `ends` in this page's own clock
	#shown = null; // id of the one in the dialog
	#lastKey = -Infinity;
	#wait = () => {}; // keeps the buttons of the dialog off
	#disposals = []; // what the dialog has to give up when it closes

	constructor(context) {
		Object.assign(this, context);
		this.count = make("span", { id: "question-count" });
		this.open = make("button", { type: "button" }, "Answer (F8)");
		this.open.onclick = () => this.#showNext();
		this.bar = make("div", { id: "question-bar", role: "alert", hidden: "" }, this.count, this.open);
		this.dialog = make("dialog", { id: "question", "aria-labelledby": "question-title" });
		document.getElementById("status").before(this.bar);
		document.body.append(this.dialog);
		this.dialog.oncancel = (event) => event.preventDefault();
		this.dialog.onclose = () => this.dialog.open || this.#hide();
		addEventListener("keydown", (event) => this.#key(event), true);
		this.live.on("approval", (frame) => this.#hear(frame));
		this.live.on("snapshot", ({ approvals }) => this.#begin(approvals));
		this.live.on("state", () => this.#tell());
		setInterval(() => this.#tick(), 1000);
	}

	/** Ask {title, text, actions: [{label, value, kind}]} below the text, at once if it `isAwaited`. Resolves with a value, or null. */
	askInline(question) {
		return new Promise((resolve) => this.#inline(question, resolve));
	}

	/** Let a person merge two texts; resolves with the result, or null. */
	mergeDialog({ path, base, ours, theirs }) {
		this.#hide(); // a question of somebody else waits again
		return new Promise((resolve) => {
			this.#fill(`Merge ${path}`);
			const merged = this.#mergePanes({ base, ours, theirs, names: ["Your text", "Result", "In the file"] });
			const end = (value) => {
				resolve(value);
				this.#back();
			};
			this.#disposals.push(() => resolve(null));
			this.#present([
				["Use the result", async () => end((await merged).getValue()), "primary"],
				["Cancel", () => end(null)],
			]);
		});
	}

	#inline({ title, text, actions, isAwaited = false }, resolve) {
		const before = document.activeElement;
		const row = rowOf(actions.map(({ label, value, kind }) => [label, () => box.end(value), kind]));
		const box = make("div", { class: "inline-question", role: "alertdialog", "aria-label": title, tabindex: "-1" });
		box.append(make("strong", {}, title), make("span", {}, text), row, make("kbd", {}, "F8"));
		box.end = (value) => {
			const isInside = box.contains(document.activeElement);
			box.remove();
			if (isInside) before.focus();
			resolve(value);
		};
		const wait = isAwaited || guard(row);
		box.onkeydown = (event) => {
			if (!isAwaited && isLetter(event) && (event.target === box || event.key !== " ")) {
				wait();
				before.focus(); // before the browser puts the letter in
			} else if (event.key === "Escape") this.#press(event, { click: () => box.end(null) });
			else if (event.key === "Enter" && event.target === box) this.#press(event, row.firstChild);
		};
		document.getElementById("asked").append(box);
		if (isAwaited || !(this.#isTyping || before.matches("input, .inline-question, .inline-question *"))) box.focus();
		return box;
	}

	get #isTyping() {
		return performance.now() - this.#lastKey < TYPING_MS;
	}

	#begin(approvals) {
		const open = new Set(approvals.map((request) => request.id));
		for (const id of this.#queue.keys()) if (!open.has(id)) this.#drop(id, "was answered while there was no connection");
		for (const request of approvals) this.#add(request);
		this.#offer();
	}

	#hear({ state, approval_id: id, request, reason }) {
		if (state === "asked") request && this.#add(request);
		else this.#drop(id, state === "allowed" ? "was allowed" : `was denied${reason ? `: ${reason}` : ""}`);
	}

	#add(request) {
		const ends = performance.now() + request.seconds_left * 1000;
		const entry = this.#queue.get(request.id) ?? { request };
		entry.ends = ends;
		if (this.#queue.has(request.id)) return;
		this.#queue.set(request.id, entry);
		const { actor } = this.live.welcome ?? {};
		entry.isOwn = request.actor.kind === "editor" && request.actor.session === actor?.session;
		if (entry.isOwn) this.#askOwn(entry);
		this.#offer();
	}

	#askOwn(entry) {
		const { request } = entry;
		const label = /save|write/.test(request.tool) ? "Save it" : "Allow it";
		const actions = [{ label, value: "allow", kind: "primary" }, { label: "Cancel", value: "deny" }];
		const question = { title: `${request.path} is protected`, text: `${request.description}. ${REASONS[request.reason] ?? ""}`, actions };
		// Once it is no longer in the queue it was answered elsewhere.
		const answered = (answer) => this.#queue.has(request.id) && this.#answer(entry, answer ?? "deny");
		entry.box = this.#inline(question, answered);
	}

	#drop(id, told) {
		const entry = this.#queue.get(id);
		if (!entry) return;
		this.#queue.delete(id);
		entry.box?.end(null);
		if (this.#shown === id) entry.isMerging ? this.#outlive(told) : this.#hide();
		if (!entry.isOwn) this.say(`The question about ${entry.request.path} ${told}.`);
		this.#offer();
	}

	async #answer(entry, answer, text) {
		const { request } = entry;
		const isMerge = answer === "merge"; // stays in view until it has arrived
		this.#queue.delete(request.id);
		if (isMerge) this.#wait();
		else {
			if (this.#shown === request.id) this.#hide();
			this.#showNext(); // the person is answering
		}
		try {
			await this.live.answer(request.id, answer, text);
			if (!entry.isOwn) this.say(`Answered: ${request.description}`, { kind: "ok" });
			if (isMerge) this.#back();
		} catch (error) {
			this.say(`Not answered: ${error.message}`, { kind: "error" });
			if (error.code === "CONNECTION_LOST") this.#queue.set(request.id, Object.assign(entry, { box: null, isOwn: false }));
			else if (isMerge) this.#outlive("could not be answered");
		}
		this.#tell();
	}

	/** Leave in view what was merged in vain. */
	#outlive(told) {
		this.#shown = null;
		this.actions.firstChild.remove();
		this.dialog.firstChild.textContent = `The question ${told}. Copy what you want to keep.`;
	}

	#back() {
		this.#hide();
		this.#showNext();
	}

	#waiting() {
		return [...this.#queue.values()].filter((entry) => !entry.isOwn);
	}

	/** Show the next question, unless the person is typing. */
	#offer() {
		if (!this.#isTyping) this.#showNext();
		this.#tell();
	}

	#showNext() {
		const [entry] = this.#waiting();
		if (!entry || this.dialog.open || this.live.state !== "connected") return;
		const { request } = entry;
		this.#shown = request.id;
		this.#fill(request.description);
		this.#describe(request);
		const isConflict = request.reason === "conflict";
		const actions = [["Allow", () => this.#answer(entry, "allow"), "primary"]];
		if (request.can_merge) actions.push([isConflict ? "Merge …" : "Edit …", () => this.#mergeAnswer(entry)]);
		if (!isConflict) actions.push(["Allow for the rest of this run", () => this.#answer(entry, "allow_for_run")]);
		actions.push(isConflict ? ["Cancel", () => this.#answer(entry, "cancel")] : ["Deny", () => this.#answer(entry, "deny")]);
		this.#diff(request);
		this.#present(actions);
	}

	async #mergeAnswer(entry) {
		const { request } = entry;
		this.#hide();
		this.#shown = request.id;
		entry.isMerging = entry.draft !== undefined;
		const isConflict = request.reason === "conflict";
		this.#fill(`${isConflict ? "Merge" : "Edit"} ${request.path}`);
		const [ours, theirs] = [request.old_text ?? "", request.new_text ?? ""];
		const names = [isConflict ? "Your text" : "In the file", "Result", `From ${nameOf(request.actor)}`];
		const merged = this.#mergePanes({ base: isConflict ? request.base_text : ours, ours, theirs, names, draft: entry.draft });
		this.#present([
			["Write the result", async () => this.#answer(entry, "merge", (await merged).getValue()), "primary"],
			["Back", () => this.#back()],
		]);
		const result = await merged;
		result.onDidChangeModelContent(() => Object.assign(entry, { isMerging: true, draft: result.getValue() }));
	}

	#fill(title) {
		this.body = make("div", { class: "question-body" });
		this.dialog.replaceChildren(make("h2", { id: "question-title", tabindex: "-1" }, title), this.body);
	}

	#describe(request) {
		const name = make("b", { class: `actor ${hueOf(request.actor)}` }, nameOf(request.actor));
		const facts = make("p", {}, name, ` calls ${request.tool} on `, make("code", {}, request.path), ". ");
		facts.append(make("span", { class: `risk-${request.risk}` }, `Risk: ${request.risk}.`), ` ${REASONS[request.reason] ?? ""}`);
		this.left = make("p", { class: "soft", id: "question-left" });
		this.body.append(facts, this.left);
		if (request.actor.session?.startsWith("run-")) this.#progress(request.actor.session);
		this.#tick();
	}

	#progress(run) {
		const label = make("span");
		const bar = make("progress", { "aria-label": "Progress of the run" });
		const line = make("p", { class: "run", hidden: "" }, label, bar);
		this.body.append(line);
		const address = `/v1/runs/${encodeURIComponent(run)}`;
		const stop = make("button", { type: "button" }, "Stop the run");
		stop.onclick = async () => {
			try {
				await this.server.json("DELETE", address);
			} catch (error) {
				return this.say(`The run goes on: ${error.message}`, { kind: "error" });
			}
			for (const entry of this.#waiting()) if (entry.request.actor.session === run) await this.#answer(entry, "deny");
			return this.say("Stopped the run.");
		};
		line.append(stop);
		const look = async () => {
			const { status, step = "" } = await this.server.json("GET", address).catch(() => ({}));
			const [, done, all] = /(\d+)\/(\d+)/.exec(step) ?? [];
			[line.hidden, bar.hidden] = [status !== "running", !all];
			label.textContent = all ? `Step ${done} of ${all} ` : `Run ${run} `;
			if (all) [bar.value, bar.max] = [Number(done), Number(all)];
		};
		look();
		const timer = setInterval(look, STEP_MS);
		this.#disposals.push(() => clearInterval(timer));
	}

	async #diff(request) {
		const { old_text: old = "", new_text: fresh } = request;
		const place = make("div", { class: "question-diff" });
		this.body.append(place);
		const loaded = fresh === undefined ? null : await monaco.catch(() => null);
		if (!place.isConnected) return;
		if (!loaded) {
			place.replaceWith(make("pre", { tabindex: "0", "aria-label": "What would change" }, request.diff || "There is no text to show."));
			return;
		}
		const editor = loaded.editor.createDiffEditor(place, {
			...OPTIONS, readOnly: true, renderSideBySideInlineBreakpoint: 900,
			renderGutterMenu: false, // reports an error if the editor goes soon
			originalAriaLabel: "As it is", modifiedAriaLabel: "As it would be",
		});
		const models = [old, fresh].map((text) => this.#model(loaded, text, request.path));
		editor.setModel({ original: models[0], modified: models[1] });
		// Monaco does not heed these at the start.
		editor.getOriginalEditor().updateOptions({ ariaLabel: "As it is" });
		editor.getModifiedEditor().updateOptions({ ariaLabel: "As it would be" });
		const compared = new Promise((resolve) => editor.onDidUpdateDiff(resolve));
		this.#disposals.push(() => compared.then(() => [editor, ...models].forEach((each) => each.dispose())));
	}

	#model(monaco, text, path) {
		this.models = (this.models ?? 0) + 1;
		const uri = monaco.Uri.from({ scheme: "question", path: `/${this.models}/${path}` });
		const model = monaco.editor.createModel(text, undefined, uri);
		if (!text.includes("\r")) model.setEOL(monaco.editor.EndOfLineSequence.LF);
		return model;
	}

	/** Lay out three panes; resolves with the editor of the result. */
	async #mergePanes({ base, ours, theirs, names, draft }) {
		const begun = begunMerge(base, ours, theirs);
		if (begun.left) this.body.append(make("p", {}, `${begun.left} of their changes meet yours, and are not in the result: put in by hand what you want.`));
		const panes = names.map((name) => make("section", { "aria-label": name }, make("h3", {}, name), make("div")));
		this.body.append(make("div", { class: "merge" }, ...panes));
		const loaded = await monaco;
		const editors = [ours, draft ?? begun.text, theirs].map((text, place) => {
			const model = this.#model(loaded, text, "merge.txt");
			const options = { ...OPTIONS, model, readOnly: place !== 1, ariaLabel: names[place] };
			const editor = loaded.editor.create(panes[place].lastChild, options);
			this.#disposals.push(() => [editor, model].forEach((each) => each.dispose()));
			return editor;
		});
		this.result = editors[1];
		this.result.focus();
		return this.result;
	}

	#present(actions) {
		this.actions = rowOf(actions);
		this.dialog.append(this.actions);
		this.#wait = guard(this.actions);
		this.dialog.showModal();
		this.dialog.querySelector("h2").focus();
		this.#tell();
	}

	#hide() {
		const entry = this.#queue.get(this.#shown);
		if (entry) entry.isMerging = false;
		this.#shown = null;
		this.dialog.close(); // the browser gives the focus back
		for (const dispose of this.#disposals.splice(0)) dispose();
	}

	#key(event) {
		const { key, target } = event;
		const isCommand = ((event.ctrlKey || event.metaKey) && key === "s") || (event.altKey && event.code === "KeyW");
		if (isCommand) this.#lastKey = -Infinity; // what it asks is awaited
		else if (!["F8", "Control", "Alt", "Shift", "Meta"].includes(key)) this.#lastKey = performance.now();
		if (!this.dialog.open) {
			if (key !== "F8") return;
			event.preventDefault();
			const inline = document.querySelector(".inline-question");
			inline ? inline.focus() : this.#showNext();
			return;
		}
		const isOnTitle = target.id === "question-title" || target === this.dialog;
		if (isOnTitle && isLetter(event)) this.#wait();
		else if (key === "Enter" && isOnTitle) this.#press(event, this.actions.firstChild);
		else if (key === "Escape" && !target.closest(".monaco-editor")) this.#press(event, this.actions.lastChild);
		else if (key === "Escape" && !this.dialog.querySelector(".find-widget.visible")) this.#press(event, { click: () => this.dialog.querySelector("h2").focus() });
	}

	#press(event, button) {
		event.preventDefault();
		event.stopPropagation();
		if (!event.repeat) button.click(); // nothing happens to one that is off
	}

	#tick() {
		const now = performance.now();
		for (const [id, { ends }] of this.#queue) if (ends < now) this.#drop(id, "was not answered in time and was denied");
		const shown = this.#queue.get(this.#shown);
		if (shown && this.left) {
			const seconds = Math.max(0, Math.round((shown.ends - now) / 1000));
			this.left.textContent = `Will be denied in ${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}.`;
		}
	}

	#tell() {
		const number = this.#waiting().length;
		const text = number === 1 ? "1 question waits" : `${number} questions wait`;
		if (this.count.textContent !== text) this.count.textContent = text;
		this.bar.hidden = number === 0;
		this.open.disabled = this.live.state !== "connected";
		this.title({ questions: number });
	}
}
