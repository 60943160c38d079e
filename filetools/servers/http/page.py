"""Pages for people: one look for all of them; each stands alone, loads nothing, and may do only what is in it."""

from __future__ import annotations

import base64
import hashlib
from typing import Final

from fastapi.responses import HTMLResponse, Response

_STYLE: Final = """
:root { color-scheme: light dark;
  --ink: #1d2129; --soft: #5a6472; --line: #dde2e8; --back: #fff; --box: #f5f7f9; --link: #0a5fc2 }
@media (prefers-color-scheme: dark) { :root {
  --ink: #e4e8ee; --soft: #9aa5b4; --line: #2e3641; --back: #14181e; --box: #1d232b; --link: #7db6ff } }
body { max-width: 48rem; margin: 0 auto; padding: 3rem 1.25rem 4rem; font: 1rem/1.55 system-ui, sans-serif }
html { background: var(--back); color: var(--ink) }
h1 { margin: 0; font-size: 2rem; line-height: 1.2; overflow-wrap: anywhere }
h2 { margin: 2rem 0 .25rem; font-size: 1.05rem }
p { margin: .25rem 0 }
a, summary b { color: var(--link) }
code, pre, summary b { font: .9em/1.5 ui-monospace, monospace }
pre, .note { padding: .6rem .8rem; background: var(--box); border: 1px solid var(--line); border-radius: .5rem }
pre { margin: .5rem 0; white-space: pre-wrap; overflow-wrap: anywhere }
.note { margin: 1.25rem 0; border-left: .25rem solid var(--link) }
.soft, footer { color: var(--soft) }
footer { margin-top: 2.5rem; padding-top: 1rem; border-top: 1px solid var(--line) }
footer a { margin-right: 1.25rem }
details { padding: .5rem 0; border-bottom: 1px solid var(--line) }
summary b { display: inline-block; min-width: 4.5rem }
summary p, details div { margin-left: 1rem; scroll-margin-top: 5rem }
td { padding: .2rem 1rem .2rem 0; vertical-align: top; font-size: .92rem }
td:first-child { white-space: nowrap }
"""


def page(title: str, body: str, script: str = "") -> Response:
    """Return an answer that is a page.

    Args:
        title: What the browser's tab says; plain text.
        body: HTML; whatever is not ours in it is escaped.
        script: The only script that it may run.
    """
    text = f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>{_STYLE}</style>
<main>
{body}
</main>
<script>{script}</script>
"""
    headers = {
        "Content-Security-Policy": (
            f"default-src 'none'; script-src {_source(script)}; style-src {_source(_STYLE)}; connect-src 'self';"
            " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }
    return HTMLResponse(text, headers=headers)


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
