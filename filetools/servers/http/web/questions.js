/** What a person is asked: approvals and conflicts, one at a time, and never in the midst of typing. */

import { hueOf, nameOf } from "./carets.js";
import { applyEdits, diffEdits, transform } from "./live.js";

const TYPING_MS = 1500; // whoever pressed a key that recently is not interrupted
const GUARD_MS = 500; // a key that was meant for the text answers nothing
const STEP_MS = 2000;
const WIDE = "(min-width: 1000px)"; // below, a diff has one column
const REASONS = {
  protected: "This file can make other programs run code.",
  conflict: "It meets text that is not saved.",
  prompt: "Agents ask here before they change files.",
};

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** Return the start of a merge: all of ours, and what theirs changed elsewhere; and how many of their changes are left out. */
export function begunMerge(base, ours, theirs) {
  if (base === null || base === undefined) return { text: ours, left: 0 };
  const mine = diffEdits(base, ours);
  const all = diffEdits(base, theirs);
  const meets = (edit) => mine.some((own) => own.start <= edit.end && edit.start <= own.end);
  const clean = all.filter((edit) => !meets(edit));
  return { text: applyEdits(ours, transform(clean, mine, false)), left: all.length - clean.length };
}

class Questions {
  #queue = new Map(); // approval id -> {request, ends} in this page's own clock
  #shown = null; // id of the one in the dialog
  #lastKey = -Infinity;
  #disposals = [];

  constructor(context) {
    Object.assign(this, context);
    this.count = make("span", { id: "question-count" });
    this.open = make("button", { type: "button" }, "Answer (F8)");
    this.open.onclick = () => this.#showNext();
    this.bar = make("div", { id: "question-bar", role: "alert", hidden: "" }, this.count, this.open);
    this.dialog = make("dialog", { id: "question", "aria-labelledby": "question-title" });
    document.body.prepend(this.bar);
    document.body.append(this.dialog);
    this.dialog.oncancel = (event) => event.preventDefault(); // Escape is an answer, after the guard
    addEventListener("keydown", (event) => this.#key(event), true);
    this.live.on("approval", (frame) => this.#hear(frame));
    this.live.on("snapshot", (snapshot) => this.#begin(snapshot));
    this.live.on("state", () => this.#tell());
    setInterval(() => this.#tick(), 1000);
  }

  /**
   * Ask something in a line above the text; nothing else stops.
   * @param {{title: string, text: string, actions: {label: string, value: string, kind?: string}[]}} question
   * @returns {Promise<string|null>} The value of the action; null if it was dismissed.
   */
  askInline({ title, text, actions }) {
    return new Promise((resolve) => {
      const before = document.activeElement;
      const box = make("div", { class: "inline-question", role: "alertdialog", "aria-label": title }, make("strong", {}, title), make("span", {}, text));
      const end = (value) => {
        const isInside = box.contains(document.activeElement);
        box.remove();
        if (isInside) before?.focus();
        resolve(value);
      };
      for (const { label, value, kind = "" } of actions) {
        const button = make("button", { type: "button", class: kind }, label);
        button.onclick = () => end(value);
        box.append(button);
      }
      box.onkeydown = (event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        end(null);
      };
      box.end = end;
      document.getElementById("asked").append(box);
      box.querySelector("button").focus();
    });
  }

  /** Let a person merge two texts; resolves with the result, or null. */
  mergeDialog({ path, base, ours, theirs }) {
    return new Promise((resolve) => {
      this.#fill(`Merge ${path}`);
      const merged = this.#mergePanes({ base, ours, theirs, names: ["Your text", "Result", "In the file"] });
      const end = (value) => {
        this.#hide();
        resolve(value);
      };
      this.#buttons([
        ["Use the result", async () => end((await merged).getValue()), "primary"],
        ["Cancel", () => end(null)],
      ]);
      this.#present();
    });
  }

  #begin({ approvals }) {
    const open = new Set(approvals.map((request) => request.id));
    for (const id of this.#queue.keys()) if (!open.has(id)) this.#drop(id, "was answered while there was no connection");
    for (const request of approvals) this.#add(request);
    this.#tell();
  }

  #hear({ state, approval_id: id, request, reason }) {
    if (state === "asked") request && this.#add(request);
    else this.#drop(id, state === "allowed" ? "was allowed" : `was denied${reason ? `: ${reason}` : ""}`);
  }

  #add(request) {
    if (this.#queue.has(request.id)) return;
    // Both of the server's times: whatever this machine's clock says, the difference holds.
    this.#queue.set(request.id, { request, ends: performance.now() + (request.expires - request.created) * 1000 });
    const { actor } = this.live.welcome ?? {};
    const isOwn = actor && request.actor.kind === "editor" && request.actor.session === actor.session;
    if (isOwn) this.#askOwn(request);
    else if (!this.dialog.open && performance.now() - this.#lastKey > TYPING_MS) this.#showNext();
    this.#tell();
  }

  async #askOwn(request) {
    this.#queue.get(request.id).isOwn = true;
    const answer = await this.askInline({
      title: `${request.path} is protected`,
      text: REASONS[request.reason] ?? request.description,
      actions: [
        { label: "Save it", value: "allow", kind: "primary" },
        { label: "Cancel", value: "deny" },
      ],
    });
    if (this.#queue.has(request.id)) this.#answer(request, answer ?? "deny");
  }

  #drop(id, told) {
    const entry = this.#queue.get(id);
    if (!entry) return;
    this.#queue.delete(id);
    if (this.#shown === id) {
      this.#hide();
      this.say(`The question about ${entry.request.path} ${told}.`);
    }
    this.#tell();
  }

  async #answer(request, answer, text = null) {
    this.#queue.delete(request.id);
    if (this.#shown === request.id) this.#hide();
    const words = { allow: "Allowed", allow_for_run: "Allowed for this run", deny: "Denied", cancel: "Cancelled", merge: "Merged" }[answer];
    try {
      await this.live.answer(request.id, answer, text);
      this.say(`${words}: ${request.description}`, { kind: "ok" });
    } catch (error) {
      if (error.code === "CONNECTION_LOST") this.#queue.set(request.id, { request, ends: Infinity }); // asked again, if it still waits
      this.say(`Not answered: ${error.message}`, { kind: "error" });
    }
    this.#tell();
    if (!this.dialog.open) this.#showNext(); // the person is answering: the next one comes at once
  }

  #waiting() {
    return [...this.#queue.values()].filter((entry) => !entry.isOwn);
  }

  #showNext() {
    const [entry] = this.#waiting();
    if (!entry || this.dialog.open || this.live.state !== "connected") return;
    const { request } = entry;
    this.#shown = request.id;
    this.#fill(request.description);
    this.#describe(request);
    const isConflict = request.reason === "conflict";
    const deny = isConflict ? "cancel" : "deny";
    const actions = [["Allow", () => this.#answer(request, "allow"), "primary"]];
    if (request.can_merge) actions.push([isConflict ? "Merge …" : "Edit …", () => this.#mergeAnswer(request)]);
    if (!isConflict) actions.push(["Allow for the rest of this run", () => this.#answer(request, "allow_for_run")]);
    actions.push([isConflict ? "Cancel" : "Deny", () => this.#answer(request, deny), "last"]);
    this.#diff(request);
    this.#buttons(actions);
    this.#present();
  }

  #mergeAnswer(request) {
    this.#hide();
    this.#shown = request.id;
    this.#fill(`Merge ${request.path}`);
    const texts = { base: request.base_text, ours: request.old_text ?? "", theirs: request.new_text ?? "" };
    const names = [request.reason === "conflict" ? "Your text" : "In the file", "Result", `From ${nameOf(request.actor)}`];
    if (request.reason !== "conflict") texts.base = texts.ours;
    const merged = this.#mergePanes({ ...texts, names });
    this.#buttons([
      ["Write the result", async () => this.#answer(request, "merge", (await merged).getValue()), "primary"],
      ["Back", () => { this.#hide(); this.#showNext(); }],
    ]);
    this.#present();
  }

  // The dialog

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

  /** Show how far the run is, as long as the dialog is open. */
  #progress(run) {
    const label = make("span");
    const bar = make("progress", { "aria-label": "Progress of the run" });
    const line = make("p", { class: "run", hidden: "" }, label, bar);
    this.body.append(line);
    const look = async () => {
      const { step = "" } = await this.server.json("GET", `/v1/runs/${encodeURIComponent(run)}`).catch(() => ({}));
      const found = /(\d+)\/(\d+)/.exec(step);
      line.hidden = !found;
      if (!found) return;
      label.textContent = `Step ${found[1]} of ${found[2]} `;
      [bar.value, bar.max] = [Number(found[1]), Number(found[2])];
    };
    look();
    const timer = setInterval(look, STEP_MS);
    this.#disposals.push(() => clearInterval(timer));
  }

  async #diff(request) {
    const { old_text: old = "", new_text: fresh } = request;
    const place = make("div", { class: "question-diff" });
    this.body.append(place);
    if (fresh === undefined) {
      place.replaceWith(make("pre", { tabindex: "0", "aria-label": "What would change" }, request.diff ?? ""));
      return;
    }
    const monaco = await this.monaco();
    if (!place.isConnected) return;
    const isWide = matchMedia(WIDE).matches;
    const editor = monaco.editor.createDiffEditor(place, {
      automaticLayout: true, readOnly: true, minimap: { enabled: false }, renderSideBySide: isWide, useInlineViewWhenSpaceIsLimited: false,
      scrollBeyondLastLine: false, originalAriaLabel: "As it is", modifiedAriaLabel: "As it would be",
    });
    const models = [old, fresh].map((text) => this.#model(monaco, text, request.path));
    editor.setModel({ original: models[0], modified: models[1] });
    this.#disposals.push(() => [editor, ...models].forEach((each) => each.dispose()));
  }

  #model(monaco, text, path) {
    this.models = (this.models ?? 0) + 1;
    const uri = monaco.Uri.from({ scheme: "question", path: `/${this.models}/${path}` });
    return monaco.editor.createModel(text, undefined, uri);
  }

  /** Lay out three panes; resolves with the editor of the result. */
  async #mergePanes({ base, ours, theirs, names }) {
    const begun = begunMerge(base, ours, theirs);
    if (begun.left) this.body.append(make("p", {}, `${begun.left} of their changes meet yours, and are not in the result: put in by hand what you want.`));
    const panes = names.map((name) => make("section", { "aria-label": name }, make("h3", {}, name), make("div")));
    this.body.append(make("div", { class: "merge" }, ...panes));
    const monaco = await this.monaco();
    const editors = [ours, begun.text, theirs].map((text, place) => {
      const model = this.#model(monaco, text, "merge.txt");
      const options = { model, readOnly: place !== 1, automaticLayout: true, minimap: { enabled: false }, ariaLabel: names[place], unusualLineTerminators: "off" };
      const editor = monaco.editor.create(panes[place].lastChild, options);
      this.#disposals.push(() => [editor, model].forEach((each) => each.dispose()));
      return editor;
    });
    this.result = editors[1];
    return editors[1];
  }

  #buttons(actions) {
    const row = make("div", { class: "question-actions" });
    for (const [label, work, kind = ""] of actions) {
      const button = make("button", { type: "button", class: kind, disabled: "" }, label);
      button.onclick = work;
      row.append(button);
    }
    this.actions = row;
    this.dialog.append(row);
  }

  #present() {
    this.dialog.showModal();
    this.dialog.querySelector("h2").focus();
    const { actions } = this;
    setTimeout(() => {
      for (const button of actions.children) button.disabled = false;
      actions.dataset.ready = "true";
    }, GUARD_MS);
    this.#tell();
  }

  #hide() {
    this.#shown = null;
    this.dialog.close(); // the browser gives the focus back
    for (const dispose of this.#disposals.splice(0)) dispose();
    this.#tell();
  }

  #key(event) {
    if (event.key === "F8" && !this.dialog.open) {
      event.preventDefault();
      this.#showNext();
    }
    if (!this.dialog.open) {
      if (event.key.length === 1 || ["Enter", "Backspace", "Delete", "Process"].includes(event.key)) this.#lastKey = performance.now();
      return;
    }
    const isOnTitle = event.target.id === "question-title" || event.target === this.dialog;
    const isReady = this.actions?.dataset.ready && !event.repeat;
    if (event.key === "Escape") this.#press(event, isReady && this.actions.lastChild);
    else if (event.key === "Enter" && isOnTitle) this.#press(event, isReady && this.actions.firstChild);
  }

  #press(event, button) {
    event.preventDefault();
    event.stopPropagation();
    if (button) button.click();
  }

  #tick() {
    const now = performance.now();
    for (const [id, { ends }] of this.#queue) if (ends < now) this.#drop(id, "was not answered in time, and so denied");
    const shown = this.#queue.get(this.#shown);
    if (shown && this.left && Number.isFinite(shown.ends)) {
      const seconds = Math.max(0, Math.round((shown.ends - now) / 1000));
      this.left.textContent = `Denied by itself in ${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}.`;
    }
  }

  #tell() {
    const number = this.#waiting().length;
    const text = number === 1 ? "1 question waits" : `${number} questions wait`;
    if (this.count.textContent !== text) this.count.textContent = text;
    this.bar.hidden = number === 0;
    this.open.disabled = this.live.state !== "connected";
  }
}

/** Ask a person what waits for one; `monaco` returns a promise of Monaco. */
export function mountQuestions(_, context) {
  const questions = new Questions(context);
  return {
    askInline: (question) => questions.askInline(question),
    mergeDialog: (texts) => questions.mergeDialog(texts),
    get result() {
      return questions.result;
    },
  };
}
