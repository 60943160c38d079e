/** The tree of files: folders loaded page by page, kept right by events, with only the rows in view in the page. */

const ROW = 22; // pixels
const MARGIN = 12; // rows above and below the view
const BATCH_MS = 100;
const MOST_REVEALED = 20; // created files of one batch that are opened to; of more only the last
const MARK_MS = 8000;
const FILTER_MS = 150;
const WRITING = /^(write|edit|append|insert|apply|move|copy|delete|create|undo)/;
const BADGES = { writing: ["✎", "being written"], dirty: ["●", "not saved"], new: ["new", "new"], changed: ["", "changed"] };

const parentOf = (path) => (path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "");
const nameOf = (path) => path.slice(path.lastIndexOf("/") + 1);
const who = (actor) => (actor ? `${actor.id}` : "somebody");

/** Order as the server lists: folders first, then by name. */
function compare(one, other) {
  if (one.isFolder !== other.isFolder) return one.isFolder ? -1 : 1;
  const [a, b] = [one.name.toLowerCase(), other.name.toLowerCase()];
  if (a !== b) return a < b ? -1 : 1;
  return one.name < other.name ? -1 : Number(one.name > other.name);
}

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

class Tree {
  #nodes = new Map(); // path -> {path, name, isFolder, level, isOpen, children | null, cursor, total, isLoading, error}
  #marks = new Map(); // path -> {new | changed: actor, until}
  #writing = new Map(); // call -> path
  #dirty = new Set();
  #rows = [];
  #found = null; // rows of the filter, or null
  #active = "";
  #batch = [];
  #timer = null;
  #isDrawing = false;
  #typed = "";
  #editing = null; // {kind: "file" | "folder" | "rename", path} while a name is typed

  constructor(element, context) {
    Object.assign(this, context);
    this.#lay(element);
    this.#nodes.set("", this.#node("", true, -1));
    this.#nodes.get("").isOpen = true;
    this.live.on("event", (event) => this.#hear(event));
    this.live.on("snapshot", (snapshot) => this.#begin(snapshot));
    this.live.on("look-again", () => this.refresh());
    if (this.live.welcome) this.#begin(this.live.welcome);
  }

  /** Open the folders above a path, scroll to it, and make it the active row. */
  async reveal(path) {
    await this.#openTo(path);
    this.#active = path;
    this.#draw();
    this.#scrollTo(path);
  }

  /** Put the keyboard into the tree. */
  focus() {
    this.tree.focus();
  }

  /** List again what is open. */
  async refresh() {
    const open = [...this.#nodes.values()].filter((node) => node.isOpen && node.children);
    await Promise.all(open.map((node) => this.#load(node, true)));
  }

  #node(path, isFolder, level) {
    return { path, name: nameOf(path), isFolder, level, isOpen: false, children: null, cursor: null, total: 0, isLoading: false, error: null };
  }

  #lay(element) {
    this.filter = make("input", { id: "filter", type: "search", placeholder: "Filter files", "aria-label": "Filter files", autocomplete: "off", spellcheck: "false" });
    const button = (label, work) => {
      const made = make("button", { type: "button", title: label, "aria-label": label }, { "New file": "+", "New folder": "⊞", Rename: "✐", Delete: "✕" }[label]);
      made.onclick = work;
      return made;
    };
    const tools = make(
      "div",
      { role: "toolbar", "aria-label": "Files", id: "tree-tools" },
      button("New file", () => this.#ask("file")),
      button("New folder", () => this.#ask("folder")),
      button("Rename", () => this.#ask("rename")),
      button("Delete", () => this.#askDelete()),
    );
    this.asking = make("form", { id: "tree-asking", hidden: "" });
    this.note = make("p", { id: "tree-note", role: "status" });
    this.sheet = make("div", { role: "presentation", class: "sheet" });
    this.tree = make("div", { id: "tree", role: "tree", "aria-label": "Files", tabindex: "0" }, this.sheet);
    element.append(make("div", { id: "tree-head" }, this.filter, tools), this.asking, this.note, this.tree);
    this.tree.onscroll = () => this.#draw();
    this.tree.onkeydown = (event) => this.#key(event);
    this.tree.onclick = (event) => this.#click(event);
    new ResizeObserver(() => this.#draw()).observe(this.tree);
    this.filter.oninput = () => {
      clearTimeout(this.filterTimer);
      this.filterTimer = setTimeout(() => this.#filter(), FILTER_MS);
    };
    this.filter.onkeydown = (event) => {
      if (event.key === "ArrowDown") this.focus();
      else if (event.key === "Escape") this.#clear();
      else return;
      event.preventDefault();
    };
  }

  #begin(snapshot) {
    this.#dirty = new Set(snapshot.documents.filter((each) => each.dirty).map((each) => each.path));
    this.#writing = new Map((snapshot.runs || []).filter((run) => run.path).map((run) => [run.id ?? run.tool_call_id, run.path]));
    this.mirrors = snapshot.mirror || {};
    if (this.#nodes.get("").children === null) this.#load(this.#nodes.get(""));
    else this.#draw();
  }

  // Loading

  async #load(node, isAgain = false) {
    if (node.isLoading) return node.isLoading;
    node.isLoading = this.#fetch(node, isAgain);
    this.#draw();
    await node.isLoading;
    node.isLoading = null;
    this.#draw();
    return undefined;
  }

  async #fetch(node, isAgain) {
    const cursor = node.cursor && !isAgain ? `&cursor=${encodeURIComponent(node.cursor)}` : "";
    try {
      const page = await this.server.json("GET", `/v1/list?path=${encodeURIComponent(node.path)}&limit=1000${cursor}`);
      const known = isAgain ? [] : node.children || [];
      const listed = page.entries.map((entry) => this.#listed(entry, node.level + 1));
      if (isAgain) for (const child of node.children || []) if (!listed.includes(child)) this.#forget(child);
      const seen = new Set(known);
      node.children = known.concat(listed.filter((child) => !seen.has(child)));
      [node.cursor, node.error] = [page.next_cursor ?? null, null];
      node.total = Math.max(page.total ?? 0, node.children.length);
    } catch (error) {
      node.error = error.message;
      node.children ??= [];
      if (error.status === 404 && node.path) this.#remove(node.path);
    }
  }

  #listed(entry, level) {
    const isFolder = entry.type === "directory";
    const known = this.#nodes.get(entry.path);
    if (known && known.isFolder === isFolder) return known;
    const node = this.#node(entry.path, isFolder, level);
    this.#nodes.set(entry.path, node);
    return node;
  }

  async #openTo(path) {
    const parts = path.split("/").slice(0, -1);
    let node = this.#nodes.get("");
    for (let depth = 0; ; depth += 1) {
      if (node.children === null) await this.#load(node);
      node.isOpen = true;
      if (depth === parts.length) break;
      const next = parts.slice(0, depth + 1).join("/");
      node = this.#nodes.get(next) || this.#insert(next, true);
      if (!node) break;
    }
    this.#draw();
  }

  // Events

  #hear(event) {
    if (event.event === "agent:tool:started" && event.path && WRITING.test(event.tool_name)) this.#writing.set(event.tool_call_id, event.path);
    else if (event.event.startsWith("agent:tool:")) this.#writing.delete(event.tool_call_id);
    else if (event.event === "buffer:saved" || event.event === "buffer:closed" || event.event === "buffer:abandoned") this.#dirty.delete(event.path);
    else if (event.event === "buffer:changed") this.#dirty[event.dirty ? "add" : "delete"](event.path);
    else if (event.event.startsWith("file:") || event.event.startsWith("directory:")) this.#batch.push(event);
    else return;
    this.#timer ??= setTimeout(() => this.#apply(), BATCH_MS);
  }

  /** Take in what happened in the last tenth of a second. */
  #apply() {
    this.#timer = null;
    const batch = this.#batch.splice(0);
    const created = [];
    const anchor = this.#anchor();
    for (const event of batch) {
      const [kind, what] = event.event.split(":");
      if (what === "deleted" || what === "renamed") this.#remove(what === "renamed" ? event.old_path : event.path);
      if (what === "deleted") continue;
      if (what !== "modified") this.#insert(event.path, kind === "directory");
      this.#marks.set(event.path, { kind: what === "modified" ? "changed" : "new", actor: event.actor, until: Date.now() + MARK_MS });
      if (what === "created" && kind === "file") created.push(event.path);
    }
    for (const path of created.length > MOST_REVEALED ? created.slice(-1) : created) {
      this.#openTo(path).then(() => !this.tree.contains(document.activeElement) && path === created.at(-1) && this.#scrollTo(path));
    }
    this.#draw(anchor);
    if (batch.length) setTimeout(() => this.#fade(), MARK_MS + BATCH_MS);
  }

  #fade() {
    for (const [path, mark] of this.#marks) if (mark.until <= Date.now()) this.#marks.delete(path);
    this.#draw();
  }

  /** Put a path where it belongs, as far as its folder is loaded; folders above that are new come with it. */
  #insert(path, isFolder) {
    const known = this.#nodes.get(path);
    if (known && known.isFolder === isFolder) return known;
    const above = parentOf(path);
    const parent = this.#nodes.get(above) || this.#insert(above, true);
    if (!parent?.children) return null; // it is listed when its folder is opened
    const node = this.#node(path, isFolder, parent.level + 1);
    let [low, high] = [0, parent.children.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compare(parent.children[middle], node) < 0) low = middle + 1;
      else high = middle;
    }
    parent.total += 1;
    if (low === parent.children.length && parent.cursor) return null; // on a page that is not loaded yet
    parent.children.splice(low, 0, node);
    this.#nodes.set(path, node);
    return node;
  }

  #remove(path) {
    const node = this.#nodes.get(path);
    const parent = this.#nodes.get(parentOf(path));
    if (parent?.children && (node || parent.cursor)) parent.total -= 1;
    if (!node) return;
    if (parent?.children) {
      const place = parent.children.indexOf(node);
      parent.children.splice(place, 1);
      if (this.#active === path) this.#active = (parent.children[place] ?? parent.children[place - 1] ?? parent).path;
    }
    this.#forget(node);
  }

  #forget(node) {
    this.#nodes.delete(node.path);
    for (const child of node.children || []) this.#forget(child);
  }

  // Drawing

  #anchor() {
    const place = Math.floor(this.tree.scrollTop / ROW);
    return this.#rows[place] ? { node: this.#rows[place], offset: this.tree.scrollTop - place * ROW } : null;
  }

  #draw(anchor = null) {
    this.anchor ??= anchor;
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    requestAnimationFrame(() => {
      this.#isDrawing = false;
      this.#rows = this.#found ?? this.#flat();
      this.sheet.style.height = `${this.#rows.length * ROW}px`;
      const place = this.anchor ? this.#rows.indexOf(this.anchor.node) : -1;
      if (place > 0) this.tree.scrollTop = place * ROW + this.anchor.offset;
      this.anchor = null;
      this.#drawRows();
      this.#tell();
    });
  }

  #flat() {
    const rows = [];
    const add = (node) => {
      for (const child of node.children || []) {
        rows.push(child);
        if (child.isOpen) add(child);
      }
      if (node.cursor || node.isLoading || node.error) rows.push({ more: node, path: `${node.path}\0more`, level: node.level + 1 });
    };
    add(this.#nodes.get(""));
    return rows;
  }

  #drawRows() {
    const first = Math.max(0, Math.floor(this.tree.scrollTop / ROW) - MARGIN);
    const last = Math.min(this.#rows.length, Math.ceil((this.tree.scrollTop + this.tree.clientHeight) / ROW) + MARGIN);
    const writing = new Set(this.#writing.values());
    const drawn = [];
    for (let place = first; place < last; place += 1) {
      const row = this.#rows[place];
      if (row.more?.cursor && !row.more.isLoading) this.#load(row.more);
      drawn.push(row.more ? this.#moreRow(row, place) : this.#row(row, place, writing));
    }
    this.sheet.replaceChildren(...drawn);
    const active = this.sheet.querySelector(".active");
    if (active) this.tree.setAttribute("aria-activedescendant", active.id);
    else this.tree.removeAttribute("aria-activedescendant");
  }

  #row(node, place, writing) {
    const siblings = this.#nodes.get(parentOf(node.path));
    const row = make("div", { role: "treeitem", id: `row-${place}`, "aria-level": this.#found ? 1 : node.level + 1, "aria-selected": node.path === this.#active });
    row.setAttribute("aria-setsize", this.#found ? this.#found.length : (siblings?.total ?? -1));
    row.setAttribute("aria-posinset", this.#found ? place + 1 : (siblings?.children?.indexOf(node) ?? 0) + 1);
    if (node.isFolder) row.setAttribute("aria-expanded", node.isOpen);
    row.dataset.path = node.path;
    row.className = node.path === this.#active ? "active" : "";
    row.style.cssText = `top:${place * ROW}px;padding-left:${this.#found ? 8 : 8 + node.level * 14}px`;
    row.title = node.path;
    const twist = make("span", { class: "twist", "aria-hidden": "true" }, node.isFolder ? (node.isOpen ? "▾" : "▸") : "");
    const name = make("span", { class: "name" }, this.#found ? node.path : node.name);
    row.append(twist, name);
    const mark = this.#marks.get(node.path);
    if (mark) row.append(this.#badge(mark.kind, mark.actor));
    if (writing.has(node.path)) row.append(this.#badge("writing"));
    if (this.#dirty.has(node.path)) row.append(this.#badge("dirty"));
    return row;
  }

  #badge(kind, actor = null) {
    const [sign, words] = BADGES[kind];
    const said = actor ? `${words}, by ${who(actor)}` : words;
    const badge = make("span", { class: "badge", "data-badge": kind, role: "img", "aria-label": said, title: said }, sign || who(actor));
    return badge;
  }

  #moreRow({ more, level }, place) {
    const left = more.total - (more.children?.length ?? 0);
    const text = more.error ?? (left > 0 ? `${left.toLocaleString("en")} more …` : "Loading …");
    const row = make("div", { class: "more", role: "presentation" }, text);
    row.style.cssText = `top:${place * ROW}px;padding-left:${22 + level * 14}px`;
    if (more.error) {
      const again = make("button", { type: "button" }, "Retry");
      again.onclick = () => this.#load(more, true);
      row.append(" ", again);
    }
    return row;
  }

  #tell() {
    const root = this.#nodes.get("");
    const behind = Object.values(this.mirrors || {}).reduce((sum, mirror) => sum + (mirror.behind || 0), 0);
    const isEmpty = root.children?.length === 0 && !root.error && !this.#found;
    const words = [
      isEmpty ? "This folder is empty. New files appear here as agents create them." : "",
      this.#found ? `${this.#found.length.toLocaleString("en")}${this.hasMore ? " or more" : ""} found` : "",
      behind ? `Mirror: ${behind} behind` : "",
    ].filter(Boolean);
    const text = words.join(" · ");
    if (this.note.textContent !== text) this.note.textContent = text;
    if (behind) this.note.dataset.badge = "mirror";
    else delete this.note.dataset.badge;
  }

  #scrollTo(path) {
    requestAnimationFrame(() => {
      const place = this.#rows.findIndex((row) => row.path === path);
      if (place < 0) return;
      const top = place * ROW;
      if (top < this.tree.scrollTop) this.tree.scrollTop = top;
      else if (top + ROW > this.tree.scrollTop + this.tree.clientHeight) this.tree.scrollTop = top + ROW - this.tree.clientHeight;
    });
  }

  // What a person does

  #click(event) {
    const row = event.target.closest("[role=treeitem]");
    if (!row) return;
    this.#active = row.dataset.path;
    this.#use(this.#nodes.get(this.#active) ?? this.#rows.find((each) => each.path === this.#active));
  }

  #use(node) {
    if (!node || node.more) return;
    if (!node.isFolder) this.onOpen(node.path);
    else if (this.#found) this.reveal(node.path).then(() => this.#clear());
    else this.#toggle(node, !node.isOpen);
    this.#draw();
  }

  #toggle(node, isOpen) {
    node.isOpen = isOpen;
    if (isOpen && node.children === null) this.#load(node);
    this.#draw();
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.tree) return;
    const rows = this.#rows.filter((row) => !row.more);
    const place = rows.findIndex((row) => row.path === this.#active);
    const node = rows[place];
    const page = Math.max(1, Math.floor(this.tree.clientHeight / ROW) - 1);
    const moves = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: rows.length - 1, PageDown: place + page, PageUp: place - page };
    if (event.key in moves) this.#go(rows[Math.min(Math.max(moves[event.key], 0), rows.length - 1)]);
    else if (event.key === "ArrowRight" && node?.isFolder) node.isOpen ? this.#go(rows[place + 1]) : this.#toggle(node, true);
    else if (event.key === "ArrowLeft" && node?.isOpen) this.#toggle(node, false);
    else if (event.key === "ArrowLeft" && node) this.#go(this.#nodes.get(parentOf(node.path)));
    else if (event.key === "Enter" || event.key === " ") this.#use(node);
    else if (event.key === "F2") this.#ask("rename");
    else if (event.key === "Delete") this.#askDelete();
    else if (event.key === "Escape" && this.#found) this.#clear();
    else if (event.key.length === 1) this.#typeAhead(event.key, rows, place);
    else return;
    event.preventDefault();
  }

  #go(row) {
    if (!row || row.path === "") return;
    this.#active = row.path;
    this.#draw();
    this.#scrollTo(row.path);
  }

  #typeAhead(key, rows, place) {
    clearTimeout(this.typeTimer);
    this.typeTimer = setTimeout(() => (this.#typed = ""), 600);
    this.#typed += key.toLowerCase();
    const start = this.#typed.length === 1 ? place + 1 : Math.max(place, 0);
    const turned = [...rows.slice(start), ...rows.slice(0, start)];
    this.#go(turned.find((row) => row.name.toLowerCase().startsWith(this.#typed)));
  }

  async #filter() {
    const words = this.filter.value.trim();
    if (!words) return this.#clear();
    const pattern = /[*?[]/.test(words) ? words : `*${words}*`;
    try {
      const found = await this.server.json("GET", `/v1/search?pattern=${encodeURIComponent(pattern)}&limit=1000`);
      if (this.filter.value.trim() !== words) return undefined;
      this.#found = found.entries.map((entry) => ({ ...this.#node(entry.path, entry.type === "directory", 0) }));
      this.hasMore = found.truncated;
      this.tree.scrollTop = 0;
      this.#active = this.#found[0]?.path ?? "";
    } catch (error) {
      this.say(`The filter failed: ${error.message}`, { kind: "error" });
    }
    return this.#draw();
  }

  #clear() {
    this.filter.value = "";
    this.#found = null;
    this.#draw();
    if (this.#active) this.#scrollTo(this.#active);
  }

  /** Ask for a name, in a line above the tree. */
  #ask(kind) {
    const node = this.#nodes.get(this.#active);
    if (kind === "rename" && !this.#active) return;
    const folder = node?.isFolder ? node.path : parentOf(this.#active);
    const label = { file: "Name of the new file", folder: "Name of the new folder", rename: `New path of ${this.#active}` }[kind];
    const input = make("input", { "aria-label": label, placeholder: label, spellcheck: "false", autocomplete: "off" });
    input.value = kind === "rename" ? this.#active : folder && `${folder}/`;
    this.#editing = { kind, path: this.#active };
    this.#show(make("label", {}, label, input), make("button", { type: "submit" }, kind === "rename" ? "Rename" : "Create"), async () => {
      const path = input.value.trim();
      if (path.split("/").some((part) => part === "." || part === "..")) throw new Error("Name a path inside the root, without . and ..");
      if (kind === "file") await this.#create(path);
      else await this.#operate(kind === "folder" ? { op: "create_directory", path } : { op: "move", source: this.#editing.path, destination: path });
      if (kind === "file") this.onOpen(path);
      this.#active = path;
    });
    input.focus();
    const start = kind === "rename" ? input.value.length - nameOf(input.value).length : input.value.length;
    input.setSelectionRange(start, input.value.length);
  }

  #askDelete() {
    const path = this.#active;
    if (!path) return;
    const yes = make("button", { type: "submit", class: "danger" }, "Delete");
    const text = make("span", {}, `Delete ${path}? “filetools undo” brings it back.`);
    this.#show(text, yes, () => this.#operate({ op: "delete", path, recursive: this.#nodes.get(path)?.isFolder ?? false }));
    yes.focus();
  }

  async #create(path) {
    try {
      await this.server.create(path);
    } catch (error) {
      throw error.status === 412 ? new Error(`${path} exists already. Choose another name.`) : error;
    }
  }

  #operate(operation) {
    return this.server.json("POST", "/v1/transactions", { operations: [operation] });
  }

  #show(what, yes, work) {
    const no = make("button", { type: "button" }, "Cancel");
    const end = () => {
      this.asking.hidden = true;
      this.#draw();
      this.focus();
    };
    no.onclick = end;
    this.asking.onkeydown = (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      end();
    };
    this.asking.onsubmit = async (event) => {
      event.preventDefault();
      try {
        await work();
        end();
      } catch (error) {
        this.say(`${error.message}${error.suggestedAction ? ` ${error.suggestedAction}` : ""}`, { kind: "error" });
      }
    };
    this.asking.replaceChildren(what, yes, no);
    this.asking.hidden = false;
  }
}

/** Fill an element with the tree of the root. */
export function mountTree(element, context) {
  const tree = new Tree(element, context);
  return { reveal: (path) => tree.reveal(path), focus: () => tree.focus(), refresh: () => tree.refresh() };
}
