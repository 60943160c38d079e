/** The routes of the server over HTTP, as the person who has logged in. */

export class Server {
	/** With the key of the login, and the name of this window. */
	constructor(key, session) {
		this.key = key;
		this.session = session;
	}

	/** Return the address of a file's bytes. */
	fileUrl(path) {
		return `/v1/files/${path.split("/").map(encodeURIComponent).join("/")}`;
	}

	/** Send a request with a JSON body, or none; return the JSON. Errors have `status` and `code`. */
	async json(method, path, body = null) {
		const answer = await this.#send(method, path, body && JSON.stringify(body), body ? { "Content-Type": "application/json" } : {});
		return answer.status === 204 ? null : answer.json();
	}

	/** Create an empty file where none stands. */
	async create(path) {
		return this.#send("PUT", this.fileUrl(path), "", { "If-None-Match": "*" });
	}

	async blob(path) {
		return (await this.#send("GET", this.fileUrl(path), null, {})).blob();
	}

	/** Return some bytes of a file, and how many it has: {bytes, total}. */
	async bytes(path, start, end) {
		const answer = await this.#send("GET", this.fileUrl(path), null, { Range: `bytes=${start}-${end - 1}` });
		const total = Number((answer.headers.get("Content-Range") || "").split("/")[1]);
		const bytes = answer.status === 416 ? new Uint8Array() : new Uint8Array(await answer.arrayBuffer());
		return { bytes, total: Number.isFinite(total) ? total : bytes.length };
	}

	async #send(method, path, body, headers) {
		let answer;
		try {
			const sent = { ...headers, "Filetools-Login": this.key, "Filetools-Session": this.session };
			answer = await fetch(path, { method, body, headers: sent });
		} catch {
			throw new Error("The server does not answer.");
		}
		const { ok, status } = answer;
		if (ok || status === 416) return answer; // an empty file has no range
		const { detail = `The server answered ${status}.`, code } = await answer.json().catch(() => ({}));
		throw Object.assign(new Error(detail), { status, code });
	}
}
