/** Keeps a Monaco model and a live document at one text, and what a person sees of it where it was. */

import { diffEdits, transform } from "./live.js";

let count = 0;

/** Return Monaco's name of the language of a file. */
function languageOf(monaco, path) {
	const name = path.split("/").at(-1).toLowerCase();
	const isOf = ({ filenames = [], extensions = [] }) =>
		filenames.some((each) => each.toLowerCase() === name) || extensions.some((each) => name.endsWith(each));
	return monaco.languages.getLanguages().find(isOf)?.id ?? "plaintext";
}

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

/** One text in Monaco; lives as long as its tab. */
export class Binding {
	/** The editor that shows the model now, or null. */
	editor = null;
	viewState = null;
	#isTaking = false;
	#stops;

	/** `onOthers` is told the ranges that others changed, and who. */
	constructor(monaco, document, onOthers) {
		Object.assign(this, { monaco, document, onOthers });
		const uri = monaco.Uri.from({ scheme: "filetools", authority: `${(count += 1)}`, path: `/${document.path}` });
		this.model = monaco.editor.createModel(document.text, languageOf(monaco, document.path), uri);
		this.model.setEOL(monaco.editor.EndOfLineSequence.LF);
		// Otherwise Monaco takes white space of the person's line away in the same step as somebody else's edit.
		this.model.updateOptions({ trimAutoWhitespace: false });
		// Monaco takes a first U+FEFF for the mark of an encoding, which the text does not have.
		if (document.text.startsWith("\ufeff")) {
			this.model.applyEdits([{ range: new monaco.Range(1, 1, 1, 1), text: "\ufeff" }]);
		}
		const listening = this.model.onDidChangeContent((event) => this.#isTaking || this.#type(event.changes));
		this.#stops = [() => listening.dispose(), document.on("edits", (told) => this.#take(told))];
	}

	rename() {
		this.monaco.editor.setModelLanguage(this.model, languageOf(this.monaco, this.document.path));
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

	/** Make sure that the person sees the document's text; should another be shown, it comes back with Undo. */
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
		let run = [];
		for (const { rangeOffset: start, rangeLength: length, text } of changes) {
			if (run.length && start + length > run.at(-1).start) {
				this.document.change(run);
				run = [];
			}
			run.push({ start, end: start + length, text });
		}
		if (run.length) this.document.change(run);
		if (this.model.getValueLength() !== this.document.text.length) this.check();
	}

	#take({ edits, actor, reason }) {
		const back = this.editor ? this.#watch(this.editor, edits) : this.#remember(edits);
		this.#isTaking = true;
		try {
			this.#push(edits);
		} finally {
			this.#isTaking = false;
		}
		back();
		// Beside half a pair of surrogates, which is mended, Monaco takes the letter behind it along.
		if (this.model.getValueLength() !== this.document.text.length) this.check(reason === "mended");
		if (reason !== "mended" && reason !== "repair") this.onOthers(this.#rangesOf(edits), actor);
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
		let shift = 0;
		return edits.map(({ start, end, text }) => {
			const place = start + shift;
			shift += text.length - (end - start);
			return this.#range(place, place + text.length);
		});
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
			return () => this.monaco.Selection.fromPositions(...this.#ordered(each, start(), end()));
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

	#ordered(selection, start, end) {
		const isForward = selection.getDirection() === this.monaco.SelectionDirection.LTR;
		const [low, high] = end.isBefore(start) ? [start, start] : [start, end];
		return isForward ? [low, high] : [high, low];
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
