"""The page that logs a browser in: it sends the code that its address carries."""

from __future__ import annotations

from typing import Final

# The code stands behind "#", which browsers send to nobody: only this script can pass it on.
SCRIPT: Final = """
const say = text => { document.getElementById("told").textContent = text; };
const code = new URLSearchParams(location.hash.slice(1)).get("code");
history.replaceState(null, "", location.pathname);
(async () => {
  if (!code) { say("This page needs the address that 'filetools serve --open' prints."); return; }
  const answer = await fetch("/login", {
    method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify({code}),
  });
  if (!answer.ok) { say("This code was used already, or is too old. Start 'filetools serve --open' again."); return; }
  const {next, key} = await answer.json();
  localStorage.setItem("filetools-login", key);
  say("You are logged in: in this browser you may edit and approve.");
  if (next) location.replace(next);
})().catch(() => say("The server does not answer."));
"""
BODY: Final = """<h1>filetools</h1>
<p id="told" role="status">Logging in …</p>
<noscript>Logging in needs JavaScript.</noscript>"""
