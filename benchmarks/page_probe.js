// Put into every page of bench_page.py before its own scripts: notes when what a person waits for is painted.
(() => {
  const FLOOR = ".view-lines .view-line span";
  const now = () => performance.timeOrigin + performance.now();
  /** Call a function after the next frame: a message that the callback of a frame posts comes when that is drawn. */
  const afterFrame = (work) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = work;
    requestAnimationFrame(() => port2.postMessage(0));
  };
  const probe = { ready: null, tree: null, text: null, changes: {}, events: 0, frames: [], longTasks: [] };
  const shows = (selector) => document.querySelector(selector) !== null;
  let [last, isAsked] = [0, false];

  const look = (at) => {
    if (last) probe.frames.push(at - last);
    last = at;
    if (window.filetools && !isAsked) [isAsked] = [true, filetools.editor.open("notes.md")];
    if (shows("#tree [data-path]")) probe.tree ??= now();
    if (shows(FLOOR)) probe.text ??= now();
    const isReady = probe.text && (probe.tree || !document.getElementById("side"));
    if (isReady && probe.ready === null) [probe.ready] = [0, afterFrame(() => (probe.ready = now()))];
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
  new PerformanceObserver((list) => {
    for (const each of list.getEntries()) probe.longTasks.push(each.duration);
  }).observe({ type: "longtask" });

  /** Note when each state of the first line is in the model, and when it can be seen; count events of the tree. */
  probe.follow = () => {
    const { model } = filetools.editor.active.binding;
    const isShown = () =>
      document.querySelector(".view-lines").textContent.replaceAll("\u00a0", " ").includes(model.getLineContent(1));
    model.onDidChangeContent(() => {
      const change = (probe.changes[model.getLineContent(1)] ??= { model: now(), painted: null });
      const seek = () => (isShown() ? (change.painted ??= now()) : afterFrame(seek));
      afterFrame(seek);
    });
    filetools.live.on("event", (event) => (probe.events += event.event.startsWith("file:") ? 1 : 0));
  };
  /** Forget the frames so far. */
  probe.start = () => {
    [probe.frames, probe.longTasks, probe.events] = [[], [], 0];
  };
  window.probe = probe;
})();
