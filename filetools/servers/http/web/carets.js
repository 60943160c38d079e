/** Who changed what in an open text: lines that glow, names and times beside them, and the carets of others. */

const HUES = 7;
const GLOW_MS = 3000; // as long as the animation in page.css
const CARET_MS = 30_000;
const MOST_MARKS = 300;
let count = 0;

/** Return the name of an actor's colour, in all sessions the same: "hue-0" to "hue-6"; none is red, as errors are. */
export function hueOf(actor) {
	let hash = 7;
	for (const letter of `${actor?.kind}:${actor?.id}`) {
		hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
	}
	return `hue-${hash % HUES}`;
}

/** Return an actor as a person reads it, such as "alice (agent)"; null is somebody unknown. */
export function nameOf(actor) {
	if (!actor) return "somebody else";
	if (actor.kind === "external") return "another program";
	return actor.kind === "system" ? actor.id : `${actor.id} (${actor.kind === "editor" ? "person" : actor.kind})`;
}

export class Others {
	#marks = new Map(); // by decoration
	#carets = new Map(); // by actor
	#glows = new Map(); // timers, by decoration
	#editor = null;
	#stop;

	/** @param {() => void} tell Called when somebody's caret is gone. */
	constructor(monaco, model, tell) {
		Object.assign(this, { monaco, model, tell });
		this.#stop = model.onDidChangeContent(() => {
			for (const { widget } of this.#carets.values()) this.#editor?.layoutContentWidget(widget);
		});
	}

	/** Show that somebody changed the text in some places, just now. */
	show(ranges, actor, now = new Date()) {
		if (!ranges.length) return;
		const hue = hueOf(actor);
		const label = `${nameOf(actor)}, ${now.toTimeString().slice(0, 8)}`;
		const lines = this.#lines(ranges);
		for (const range of lines) this.#mark(range, hue, label);
		this.#glow(lines, hue);
		if (actor && actor.kind !== "external" && actor.kind !== "system") this.#place(ranges.at(-1), actor, hue);
	}

	/** Return who changed a line last, and when; an empty text if nobody else has. */
	at(line) {
		const found = this.model.getLineDecorations(line).map((each) => this.#marks.get(each.id));
		return found.findLast((label) => label) ?? "";
	}

	/** Show names in an editor that shows the model, or in none. */
	attach(editor) {
		for (const { widget } of this.#carets.values()) {
			this.#editor?.removeContentWidget(widget);
			editor?.addContentWidget(widget);
		}
		this.#editor = editor;
	}

	/** Names of those who have edited the text within the last 30 s. */
	get names() {
		return [...this.#carets.values()].map(({ actor }) => nameOf(actor));
	}

	dispose() {
		for (const key of [...this.#carets.keys()]) this.#remove(key);
		for (const timer of this.#glows.values()) clearTimeout(timer);
		this.#stop.dispose();
	}

	#mark(range, hue, label) {
		for (const id of this.#marks.keys()) {
			const older = this.model.getDecorationRange(id);
			const isBelow = older?.startLineNumber >= range.startLineNumber;
			const isCovered = !older || (isBelow && older.endLineNumber <= range.endLineNumber);
			if (isCovered || this.#marks.size >= MOST_MARKS) {
				this.model.deltaDecorations([id], []);
				this.#marks.delete(id);
			}
		}
		const options = { linesDecorationsClassName: `mark ${hue}`, linesDecorationsTooltip: label, stickiness: 1 };
		const [id] = this.model.deltaDecorations([], [{ range, options }]);
		this.#marks.set(id, label);
	}

	#glow(ranges, hue) {
		const options = { isWholeLine: true, className: `glow ${hue}`, stickiness: 1 };
		const ids = this.model.deltaDecorations([], ranges.map((range) => ({ range, options })));
		const stop = () => {
			this.#glows.delete(ids[0]);
			this.model.deltaDecorations(ids, []);
		};
		this.#glows.set(ids[0], setTimeout(stop, GLOW_MS));
	}

	/** Return the changed lines, each once. */
	#lines(ranges) {
		const found = [];
		for (const { startLineNumber: start, endLineNumber, endColumn } of ranges) {
			const end = endLineNumber - (endColumn === 1 && endLineNumber > start);
			const last = found.at(-1);
			if (last && start <= last.endLineNumber) found[found.length - 1] = last.setEndPosition(Math.max(end, last.endLineNumber), 1);
			else found.push(new this.monaco.Range(start, 1, end, 1));
		}
		return found;
	}

	#place(range, actor, hue) {
		const key = `${actor.kind}:${actor.id}:${actor.session ?? ""}`;
		this.#remove(key);
		const options = { beforeContentClassName: `caret ${hue}`, showIfCollapsed: true, stickiness: 1 };
		const place = this.monaco.Range.fromPositions(range.getEndPosition());
		const [id] = this.model.deltaDecorations([], [{ range: place, options }]);
		const widget = this.#label(id, actor, hue);
		const leave = () => {
			this.#remove(key);
			this.tell();
		};
		this.#carets.set(key, { id, actor, widget, timer: setTimeout(leave, CARET_MS) });
		this.#editor?.addContentWidget(widget);
	}

	/** Behind its line's text, not over it. */
	#label(id, actor, hue) {
		const node = document.createElement("div");
		node.className = `caret-name ${hue}`;
		node.textContent = nameOf(actor);
		const name = `filetools-caret-${(count += 1)}`;
		const preference = [this.monaco.editor.ContentWidgetPositionPreference.EXACT];
		const getPosition = () => {
			const line = this.model.getDecorationRange(id)?.startLineNumber;
			return line ? { position: { lineNumber: line, column: this.model.getLineMaxColumn(line) }, preference } : null;
		};
		return { getId: () => name, getDomNode: () => node, getPosition };
	}

	#remove(key) {
		const caret = this.#carets.get(key);
		if (!caret) return;
		clearTimeout(caret.timer);
		this.#carets.delete(key);
		this.#editor?.removeContentWidget(caret.widget);
		if (!this.model.isDisposed()) this.model.deltaDecorations([caret.id], []);
	}
}
