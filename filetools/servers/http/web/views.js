/** What is shown of a file that no editor opens: binary, or too large. Read-only. */

import { make } from "./elements.js";

const SHOWN_BYTES = 64 * 1024;

/** Whether a file is shown in such a view when opening it fails so. */
export function isViewed(error) {
	return ["FILE_TOO_LARGE", "ENCODING_ERROR"].includes(error.code) || / is binary/.test(error.message);
}

const told = (bytes) => `${bytes.toLocaleString("en")} bytes`;

/** Return a view of a file: its kind, size, a link to all of it, and how a text begins. */
export async function readOnlyView(server, path, error) {
	const { bytes, total } = await server.bytes(path, 0, SHOWN_BYTES);
	const isText = !bytes.includes(0);
	const why = error.code === "FILE_TOO_LARGE" ? "is too large to edit here" : "cannot be decoded";
	const kind = isText ? `A text that ${why}` : "A binary file";
	const link = make("a", { href: "#", download: path.split("/").at(-1) }, "Download");
	link.onclick = async (event) => {
		if (!event.isTrusted) return; // the click below
		event.preventDefault();
		link.href = URL.createObjectURL(await server.blob(path)); // an address alone carries no login
		link.click();
	};
	const begins = isText && total > bytes.length ? ` The first ${told(bytes.length)}:` : "";
	return make(
		"section",
		{ class: "view", "aria-label": `${path}, read-only` },
		make("h2", {}, `${kind}: ${path}`),
		make("p", {}, `${told(total)} · read-only`),
		make("p", {}, link, begins),
		...(isText ? [make("pre", { tabindex: 0 }, new TextDecoder().decode(bytes))] : []),
	);
}
