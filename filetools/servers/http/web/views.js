/** What is shown of a file that no editor opens: binary, or too large. Read-only. */

import { make } from "./elements.js";

const SHOWN_BYTES = 64 * 1024;
const ROW_BYTES = 16;

/** Whether a file is shown in such a view when opening it fails so. */
export function isViewed(error) {
  return ["FILE_TOO_LARGE", "ENCODING_ERROR"].includes(error.code) || / is binary/.test(error.message);
}

/** Return a number of bytes as a person reads it. */
function sizeOf(bytes) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), units.length - 1);
  return `${power ? (bytes / 1024 ** power).toFixed(1) : bytes} ${units[power]}`;
}

/** Return bytes in rows of sixteen: place, hexadecimal, and what is printable of them. */
export function hexOf(bytes) {
  const rows = [];
  for (let at = 0; at < bytes.length; at += ROW_BYTES) {
    const row = [...bytes.subarray(at, at + ROW_BYTES)];
    const digits = row.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const letters = row.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : ".")).join("");
    rows.push(`${at.toString(16).padStart(8, "0")}  ${digits.padEnd(ROW_BYTES * 3 - 1)}  ${letters}`);
  }
  return rows.join("\n");
}

/** Return an element that shows a file: what it is, its size and version, a link to all of it, and how it begins. */
export async function readOnlyView(server, path, error) {
  const asked = server.json("POST", "/v1/tools/file_info", { path });
  const [info, { bytes, total }] = await Promise.all([asked, server.bytes(path, 0, SHOWN_BYTES)]);
  const isText = error.code === "FILE_TOO_LARGE" && !bytes.includes(0);
  const size = info.data?.size ?? total;
  const kind = isText ? "A text that is too large to edit here" : "A binary file";
  const version = info.data?.version?.slice(0, 19) ?? "unknown";
  const facts = `${sizeOf(size)} (${size} bytes) · version ${version} · read-only`;
  const link = make("a", { href: server.fileUrl(path), download: path.split("/").at(-1) }, "Download");
  const begins = size > bytes.length ? ` The first ${sizeOf(bytes.length)}:` : "";
  return make(
    "section",
    { class: "view", "aria-label": `${path}, read-only` },
    make("h2", {}, `${kind}: ${path}`),
    make("p", { class: "facts" }, facts),
    make("p", {}, link, begins),
    make("pre", { tabindex: 0 }, isText ? new TextDecoder().decode(bytes) : hexOf(bytes)),
  );
}
