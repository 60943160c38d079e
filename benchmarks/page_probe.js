// Put into every page of bench_page.py before its own scripts: notes when what a person waits for is painted.
(() => {
  const FLOOR = ".view-lines .view-line span";
  const now = () => performance.timeOrigin + performance.now();
  // A message that a frame's callback posts arrives when the frame is drawn.
  const painted = (work) => {
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
    if (isReady && probe.ready === null) [probe.ready] = [0, painted(() => (probe.ready = now()))];
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
      const seek = () => (isShown() ? painted(() => (change.painted ??= now())) : requestAnimationFrame(seek));
      seek();
    });
    filetools.live.on("event", (event) => (probe.events += event.position ? 1 : 0));
  };
  /** Forget the frames so far. */
  probe.start = () => {
    [probe.frames, probe.longTasks, probe.events] = [[], [], 0];
  };
  window.probe = probe;
})();
