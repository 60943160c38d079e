/** The editor: tabs and documents. */

/** Return Monaco, loaded from the server's own files. */
function loadMonaco() {
  return new Promise((resolve, reject) => {
    const base = document.documentElement.dataset.monaco;
    window.require.config({ paths: { vs: base } });
    window.require(["vs/editor/editor.main"], () => resolve(window.monaco), reject);
  });
}

/** Fill an element with the editor. */
export function mountEditor(element, { live, server, say, askInline }) {
  const monaco = loadMonaco();
  monaco.then((found) => {
    element.id = "main";
    const place = document.createElement("div");
    place.id = "editor";
    element.append(place);
    found.editor.create(place, { value: "hello\n", automaticLayout: true });
  });
  return { open() {}, close() {}, save() {}, focus() {}, tabs: [], monaco };
}
