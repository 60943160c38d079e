/** Loads Monaco from the server's own files. It imports nothing, and so begins before the page does. */

const { monaco: base, core } = document.documentElement.dataset;

function fetched(tag, attributes) {
	const node = Object.assign(document.createElement(tag), attributes);
	document.head.append(node);
	return node;
}

export const PLAIN = {
	automaticLayout: true, minimap: { enabled: false }, scrollBeyondLastLine: false, unusualLineTerminators: "off", wordBasedSuggestions: "off",
	occurrencesHighlight: "off", // Monaco 0.55 reports an error when a model goes while it looks for them
};

/** Put what is too faint in a theme of Monaco's right: 4.5 to 1, also where a difference lies beneath. */
function mend(editor, base, inks, colors) {
	const rules = inks.split(" ").map((ink) => ({ token: ink.slice(0, -7), foreground: ink.slice(-6) }));
	editor.defineTheme(base, { base, inherit: true, rules, colors });
}

/** Return Monaco. It colours all languages, and knows none: no further workers. */
async function load() {
	// The loader would ask for each of them only when it has the one before; the core is nine tenths of Monaco.
	if (core) fetched("link", { rel: "preload", as: "script", href: `${base}/${core}` });
	const loader = fetched("script", { src: `${base}/loader.js` });
	fetched("link", { rel: "preload", as: "script", href: `${base}/editor/editor.main.js` });
	fetched("link", { rel: "preload", as: "style", href: `${base}/editor/editor.main.css` });
	await new Promise((resolve, reject) => Object.assign(loader, { onload: resolve, onerror: reject }));
	window.require.config({ paths: { vs: base } });
	await new Promise((resolve, reject) => window.require(["vs/editor/editor.main"], resolve, reject));
	const { editor, languages } = window.monaco;
	const all = ["css", "html", "typescript"].flatMap((name) => Object.values(languages[name]));
	for (const each of all) each?.setModeConfiguration?.({});
	languages.json.jsonDefaults.setModeConfiguration({ tokens: true });
	mend(editor, "vs", "comment:006600 number:076543 type:006666 attribute.name:b00000 annotation:5c5c5c", {
		"editorLineNumber.dimmedForeground": "#237893",
		"editorBracketHighlight.foreground2": "#1a6b25",
		"diffEditor.removedLineBackground": "#ff00001a",
		"diffEditor.removedTextBackground": "#ff000026",
	});
	mend(editor, "vs-dark", "comment:84b16f regexp:d592b8 delimiter.html:a0a0a0 delimiter.xml:a0a0a0", {
		"editorLineNumber.dimmedForeground": "#858585",
		"diffEditor.insertedLineBackground": "#2ea04312",
		"diffEditor.insertedTextBackground": "#2ea04318",
		"diffEditor.insertedTextBorder": "#3fb95080",
		"diffEditor.removedLineBackground": "#ff505018",
		"diffEditor.removedTextBackground": "#ff505020",
		"diffEditor.removedTextBorder": "#ff7b7280",
	});
	const isDark = matchMedia("(prefers-color-scheme: dark)");
	const follow = () => editor.setTheme(isDark.matches ? "vs-dark" : "vs");
	isDark.addEventListener("change", follow);
	follow();
	return window.monaco;
}

/** Monaco, once it is loaded; null without a login. */
export const monaco = localStorage.getItem("filetools-login") ? load() : null;
