/** Keeps a Monaco model and a live document at one text, and the person's view in place. */

import { compose, diffEdits, transform } from "./live.js";

const MOST_STEPS = 1000; // that Undo takes back
let count = 0;

/**
 * Return where a place comes to stand after edits. Text put in just there goes behind it, so that what a person types
 * stays together; but whole lines before a line move it, and before the start of a selection text stays outside.
 */
function moved({ at, isLineStart, isStart }, edits) {
	let shift = 0;
	for (const { start, end, text } of edits) {
		if (start > at) break;
		if (end > at) return start + shift + Math.min(at - start, text.length);
		const isBefore = start < at || isStart || (isLineStart && text.endsWith("\n"));
		if (isBefore) shift += text.length - (end - start);
	}
	return at + shift;
}

/** Return the edits that take edits of a text back. */
function inverse(text, edits) {
	let shift = 0;
	return edits.map(({ start, end, text: added }) => {
		const at = start + shift;
		shift += added.length - (end - start);
		return { start: at, end: at + added.length, text: text.slice(start, end) };
	});
}

/** Carry steps past edits of the text that the last of them is of. */
function carry(steps, edits) {
	let theirs = edits;
	for (let at = steps.length - 1; at >= 0; at -= 1) {
		[steps[at], theirs] = [transform(steps[at], theirs, false), transform(theirs, steps[at], true)];
	}
}

/** One text in Monaco, with an Undo of what the person did alone; lives as long as its tab. */
export class Binding {
	/** The editor that shows the model now, or null. */
	editor = null;
	viewState = null;
	#isTaking = false;
	#done = []; // edits that take the person's steps back, each of the text that those behind it leave
	#undone = []; // and that do them again
	#isOpen = false; // whether what is typed next belongs to the last step
	#stops;

	/** `onOthers` is told the ranges that others changed, and who. */
	constructor(monaco, document, onOthers) {
		Object.assign(this, { monaco, document, onOthers });
		this.model = this.#modelOf(document.text);
		this.model.setEOL(monaco.editor.EndOfLineSequence.LF);
		// Otherwise Monaco takes white space of the person's line away in the same step as somebody else's edit.
		this.model.updateOptions({ trimAutoWhitespace: false });
		// Monaco takes a first U+FEFF for the mark of an encoding, which the text does not have.
		if (document.text.startsWith("\ufeff")) {
			this.model.applyEdits([{ range: new monaco.Range(1, 1, 1, 1), text: "\ufeff" }]);
		}
		// Monaco's own Undo takes back others' edits, too.
		const close = this.model.pushStackElement.bind(this.model);
		this.model.pushStackElement = () => close((this.#isOpen = false));
		this.model.undo = () => this.#goBack(this.#done, this.#undone);
		this.model.redo = () => this.#goBack(this.#undone, this.#done);
		const listening = this.model.onDidChangeContent((event) => this.#isTaking || this.#type(event.changes));
		this.#stops = [() => listening.dispose(), document.on("edits", (told) => this.#take(told))];
	}

	rename() {
		const named = this.#modelOf("");
		this.monaco.editor.setModelLanguage(this.model, named.getLanguageId());
		named.dispose();
	}

	#modelOf(text) {
		const uri = this.monaco.Uri.from({ scheme: "filetools", authority: `${(count += 1)}`, path: `/${this.document.path}` });
		return this.monaco.editor.createModel(text, undefined, uri);
	}

	/** Show the model in the editor, where it was left. */
	attach(editor) {
		this.editor = editor;
		editor.setModel(this.model);
		editor.restoreViewState(this.viewState);
		this.check();
	}

	detach() {
		this.viewState = this.editor?.saveViewState() ?? this.viewState;
		this.editor = null;
	}

	/** Put a text in that was made of an older one, as the person's own change; what came since stays. */
	replace(older, fresh) {
		const since = diffEdits(older, this.model.getValue());
		this.#push(transform(diffEdits(older, fresh), since, false));
	}

	/** Make sure that the person sees the document's text. */
	check(isExpected = false) {
		const shown = this.model.getValue();
		if (shown === this.document.text) return;
		if (!isExpected) console.warn(`filetools: the editor showed another text of ${this.document.path} than it has`);
		this.#take({ edits: diffEdits(shown, this.document.text), actor: null, reason: "repair" });
	}

	dispose() {
		for (const stop of this.#stops) stop();
		this.model.dispose();
	}

	#type(changes) {
		// Monaco joins the changes of several steps into one event. Those of one step go from the end to the start.
		const runs = [];
		let last = -1;
		for (const { rangeOffset: start, rangeLength: length, text } of changes) {
			if (start + length > last) runs.push([]);
			runs.at(-1).push({ start, end: start + length, text });
			last = start;
		}
		for (const run of runs) {
			const before = this.document.text;
			this.#record(inverse(before, this.document.change(run)));
		}
		this.#compare();
	}

	#compare(isExpected) {
		if (this.model.getValueLength() !== this.document.text.length) this.check(isExpected);
	}

	#record(back) {
		this.#done.push(compose(back, this.#isOpen ? this.#done.pop() : []));
		if (this.#done.length > MOST_STEPS) this.#done.shift();
		[this.#isOpen, this.#undone] = [true, []];
	}

	/** Take the person's last step back that something is left of, or do it again; what others did stays. */
	#goBack(from, to) {
		let edits = [];
		while (from.length && !edits.length) edits = from.pop();
		if (!edits.length) return;
		to.push(inverse(this.document.text, edits));
		this.document.change(edits);
		this.#put(edits);
		this.#compare();
		const place = this.#rangesOf(edits)[0].getEndPosition();
		this.editor?.setPosition(place);
		this.editor?.revealPositionInCenterIfOutsideViewport(place);
	}

	#take({ edits, actor, reason }) {
		const isOwn = reason === "mended";
		if (isOwn) this.#record(inverse(this.model.getValue(), edits));
		else for (const steps of [this.#done, this.#undone]) carry(steps, edits);
		const back = this.editor ? this.#watch(this.editor, edits) : this.#remember(edits);
		this.#put(edits);
		back();
		// Beside half a pair of surrogates, which is mended, Monaco takes the letter behind it along.
		this.#compare(isOwn);
		if (!isOwn && reason !== "repair") this.onOthers(this.#rangesOf(edits), actor);
	}

	/** Show edits that the document has already. */
	#put(edits) {
		this.#isTaking = true;
		try {
			this.#push(edits);
		} finally {
			this.#isTaking = false;
		}
	}

	/** Do edits as one step of Undo, apart from what the person types before and after. */
	#push(edits) {
		this.model.pushStackElement();
		const places = edits.map(({ start, end, text }) => ({ range: this.#range(start, end), text }));
		this.model.pushEditOperations([], places, () => null);
		this.model.pushStackElement();
	}

	#range(start, end) {
		return this.monaco.Range.fromPositions(this.model.getPositionAt(start), this.model.getPositionAt(end));
	}

	#rangesOf(edits) {
		return inverse("", edits).map(({ start, end }) => this.#range(start, end));
	}

	/** Return what brings a place of the text back to where it belongs after edits: it returns the new position. */
	#follow(position, edits, isStart = false) {
		const place = { at: this.model.getOffsetAt(position), isLineStart: position.column === 1, isStart };
		return () => this.model.getPositionAt(moved(place, edits));
	}

	/** Return what puts carets, selections and the first visible line back after edits. */
	#watch(editor, edits) {
		const selections = editor.getSelections().map((each) => {
			const start = this.#follow(each.getStartPosition(), edits, !each.isEmpty());
			const end = each.isEmpty() ? start : this.#follow(each.getEndPosition(), edits);
			return () => {
				const [low, high] = [start(), end()];
				const range = this.monaco.Range.fromPositions(low, high.isBefore(low) ? low : high);
				return this.monaco.Selection.fromRange(range, each.getDirection());
			};
		});
		const line = editor.getVisibleRanges()[0]?.startLineNumber ?? 1;
		const rest = editor.getScrollTop() - editor.getTopForLineNumber(line);
		const first = this.#follow({ lineNumber: line, column: 1 }, edits);
		return () => {
			const [wanted, found] = [selections.map((each) => each()), editor.getSelections()];
			const isThere = (each, place) => found[place]?.equalsSelection(each);
			if (wanted.length !== found.length || !wanted.every(isThere)) editor.setSelections(wanted, "filetools");
			editor.setScrollTop(editor.getTopForLineNumber(first().lineNumber) + rest, 1);
		};
	}

	/** Return what does the same to the state that the editor comes back to. */
	#remember(edits) {
		const cursors = this.viewState?.cursorState ?? [];
		const places = cursors.flatMap((each) => [[each, "selectionStart"], [each, "position"]]);
		const view = this.viewState?.viewState;
		if (view?.firstPosition) places.push([view, "firstPosition"]);
		const follows = places.map(([holder, name]) => [holder, name, this.#follow(holder[name], edits)]);
		return () => {
			for (const [holder, name, follow] of follows) {
				const { lineNumber, column } = follow();
				holder[name] = { lineNumber, column };
			}
		};
	}
}
