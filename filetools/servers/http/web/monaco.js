/** Loads Monaco from the server's own files, for who has logged in. It imports nothing, and so begins before the page does. */

const { monaco: base, core } = document.documentElement.dataset;

function fetched(tag, attributes) {
  const node = Object.assign(document.createElement(tag), attributes);
  document.head.append(node);
  return node;
}

/** Return Monaco. It colours all languages, and knows none: no further workers. */
async function load() {
  // The loader would ask for each of them only when it has the one before; the core is nine tenths of Monaco.
  fetched("link", { rel: "preload", as: "script", href: `${base}/${core}` });
  const loader = fetched("script", { src: `${base}/loader.js` });
  fetched("link", { rel: "preload", as: "script", href: `${base}/editor/editor.main.js` });
  fetched("link", { rel: "preload", as: "style", href: `${base}/editor/editor.main.css` });
  await new Promise((resolve, reject) => Object.assign(loader, { onload: resolve, onerror: reject }));
  window.require.config({ paths: { vs: base } });
  await new Promise((resolve, reject) => window.require(["vs/editor/editor.main"], resolve, reject));
  const { editor, languages } = window.monaco;
  const { css, html, json, typescript } = languages;
  const { handlebarDefaults, htmlDefaults, razorDefaults } = html;
  const all = [css.cssDefaults, css.lessDefaults, css.scssDefaults, handlebarDefaults, htmlDefaults, razorDefaults];
  all.push(typescript.javascriptDefaults, typescript.typescriptDefaults);
  for (const each of all) each.setModeConfiguration({});
  json.jsonDefaults.setModeConfiguration({ tokens: true });
  const isDark = matchMedia("(prefers-color-scheme: dark)");
  const follow = () => editor.setTheme(isDark.matches ? "vs-dark" : "vs");
  isDark.addEventListener("change", follow);
  follow();
  return window.monaco;
}

/** Monaco, once it is loaded; null without a login. */
export const monaco = localStorage.getItem("filetools-login") ? load() : null;
