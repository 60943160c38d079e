/** Starts the page: finds the login, connects, lays the parts out, and says how the connection is. */

import { Live } from "./live.js";
import { Server } from "./server.js";
import { Tree } from "./tree.js";
import { Editor } from "./editor.js";
import { Questions } from "./questions.js";

const LOGIN = "filetools-login";
const SESSION = "filetools-session";
const PARTS =
	"#question-bar button, #tree[tabindex='0'], #tree [tabindex='0'], [role=tab][aria-selected=true], #asked > *, .native-edit-context, .inputarea, .viewing, .empty, #file-bar, #status";

const status = document.getElementById("status");
const connection = document.getElementById("connection");

/** Show a line at the bottom, read out by screen readers; an empty one ends an error. */
function say(text, { kind = "info" } = {}) {
	if (!text && status.dataset.kind !== "error") return;
	status.textContent = kind === "error" ? text.replace(/[^.?!]$/, "$&.") : text;
	status.dataset.kind = kind;
	status.setAttribute("role", kind === "error" ? "alert" : "status");
}

/** Let F6 and Shift+F6 go round the parts of the page that are shown. */
function goRound(event) {
	if (event.key !== "F6" || event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
	event.preventDefault();
	const parts = [...document.querySelectorAll(PARTS)].filter((part) => part.checkVisibility());
	const lies = (where) => (part) => document.activeElement.compareDocumentPosition(part) & where;
	const before = () => parts.findLast(lies(Node.DOCUMENT_POSITION_PRECEDING)) ?? parts.at(-1);
	const after = () => parts.find(lies(Node.DOCUMENT_POSITION_FOLLOWING)) ?? parts[0];
	(event.shiftKey ? before() : after()).focus();
}

function windowName() {
	const name = sessionStorage.getItem(SESSION) || `window-${crypto.getRandomValues(new Uint32Array(1))[0].toString(36)}`;
	sessionStorage.setItem(SESSION, name);
	return name;
}

const SENTENCES = {
	connecting: "Connecting …",
	"no-login":
		"This page is for people who have logged in. Run “filetools serve ROOT --open” and use the address that it prints.",
	waiting: "The server does not answer. What you type is kept in this window, and sent when it is back.",
	"logged-out":
		"You have been logged out. What you typed is kept in this window: run “filetools serve --open” on this root again to continue.",
};

function tellConnection(state) {
	connection.dataset.state = state;
	connection.hidden = state === "connected";
	connection.textContent = SENTENCES[state] || "";
}

function askForLogin() {
	tellConnection("no-login");
	addEventListener("storage", (event) => {
		if (event.key === LOGIN && event.newValue) location.reload();
	});
}

const titled = {};

/** Say in the title of the window what is open, in which project, and how many questions wait. */
function title(parts) {
	const { file, root, questions } = Object.assign(titled, parts);
	document.title = `${questions ? `(${questions}) ` : ""}${[file, root, "filetools"].filter(Boolean).join(" · ")}`;
}

function start(key) {
	const session = windowName();
	const live = new Live({ key, session });
	const server = new Server(key, session);
	const context = { live, server, say, title };
	const questions = new Questions(context);
	const asking = { ...context, askInline: (question) => questions.askInline(question) };
	const onOpen = (path, options) => editor.open(path, options);
	const tree = new Tree(document.getElementById("side"), { ...asking, onOpen });
	const editor = new Editor(document.getElementById("main"), { ...asking, mergeDialog: (texts) => questions.mergeDialog(texts) });
	addEventListener("keydown", goRound, true);
	document.getElementById("question").addEventListener("close", () => {
		if (!document.activeElement.closest("#parts, dialog")) editor.focus(); // it had been on what is not shown any more
	});
	live.on("state", tellConnection);
	live.on("snapshot", ({ root }) => title({ root }));
	tellConnection(live.state);
	addEventListener("storage", (event) => {
		if (event.key !== LOGIN || !event.newValue) return;
		server.key = event.newValue;
		live.login(event.newValue);
	});
	window.filetools = { live, server, tree, editor, questions };
}

const key = localStorage.getItem(LOGIN);
if (key) start(key);
else askForLogin();
