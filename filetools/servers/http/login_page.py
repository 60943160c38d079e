"""The page that logs a browser in: it stands alone, loads nothing, and sends the code that its address carries."""

from __future__ import annotations

import base64
import hashlib
from typing import Final

# The code stands behind "#", which browsers send to nobody: only this script can pass it on.
_SCRIPT: Final = """
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
_STYLE: Final = """
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
body { display: grid; place-items: center; min-height: 90vh; margin: 0; padding: 1rem; text-align: center; }
"""
PAGE: Final = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>filetools: log in</title>
<style>{_STYLE}</style>
</head>
<body>
<p id="told" role="status">Logging in …</p>
<noscript>Logging in needs JavaScript.</noscript>
<script>{_SCRIPT}</script>
</body>
</html>
"""


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


POLICY: Final = (
    f"default-src 'none'; script-src {_source(_SCRIPT)}; style-src {_source(_STYLE)}; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What the page may do: run this script, and speak with its server."""
