/** The routes of the server over HTTP, as the person who has logged in. */

/** Raised when the server refuses a request, or does not answer it. */
export class ServerError extends Error {
	constructor(message, { status = 0, code = "NETWORK_ERROR", suggestedAction = null, details = {} } = {}) {
		super(message);
		this.status = status;
		this.code = code;
		this.suggestedAction = suggestedAction;
		this.details = details;
	}
}

/** Calls one server; lives as long as the page. */
export class Server {
	/** With the key that the login gave, and the name of this window, by which its changes are told from those of others. */
	constructor(key, session) {
		this.key = key;
		this.session = session;
	}

	/** Return the address of a file's bytes; each part of the path is percent-encoded once. */
	fileUrl(path) {
		return `/v1/files/${path.split("/").map(encodeURIComponent).join("/")}`;
	}

	/** Send a request, with a body of JSON unless it is null, and return the JSON that answers it. */
	async json(method, path, body = null, headers = {}) {
		const answer = await this.#send(method, path, body === null ? null : JSON.stringify(body), {
			...(body === null ? {} : { "Content-Type": "application/json" }),
			...headers,
		});
		return answer.status === 204 ? null : answer.json();
	}

	/** Create an empty file where none stands. */
	async create(path) {
		return this.#send("PUT", this.fileUrl(path), "", { "If-None-Match": "*" });
	}

	/** Return some bytes of a file, and how many it has: {bytes, total}. */
	async bytes(path, start, end) {
		const answer = await this.#send("GET", this.fileUrl(path), null, { Range: `bytes=${start}-${end - 1}` }, [416]);
		const total = Number((answer.headers.get("Content-Range") || "").split("/")[1]);
		const bytes = answer.status === 416 ? new Uint8Array() : new Uint8Array(await answer.arrayBuffer());
		return { bytes, total: Number.isFinite(total) ? total : bytes.length };
	}

	async #send(method, path, body, headers, good = []) {
		let answer;
		try {
			const sent = { ...headers, "Filetools-Login": this.key, "Filetools-Session": this.session };
			answer = await fetch(path, { method, body, headers: sent });
		} catch {
			throw new ServerError("The server does not answer.");
		}
		if (answer.ok || good.includes(answer.status)) return answer;
		const problem = await answer.json().catch(() => ({}));
		throw new ServerError(problem.detail || problem.error || `The server answered ${answer.status}.`, {
			status: answer.status,
			code: problem.code || problem.error_code,
			suggestedAction: problem.suggested_action,
			details: problem.details,
		});
	}
}
