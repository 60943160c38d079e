"""The pages for browsers: the front page and the login."""

from __future__ import annotations

import base64
import hashlib
from html import escape
from pathlib import PurePath
from typing import Annotated, Final

from fastapi import APIRouter, Header, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import Field

from filetools.distribution import install_command
from filetools.servers.http.problems import Refusal
from filetools.servers.http.security import cookie_name, wants_page
from filetools.servers.http.shared import LOGIN_SECONDS, Shared, SharedParts
from filetools.tools.arguments import Parameters

router: Final = APIRouter(include_in_schema=False)
# Only the browser knows the public address: a TLS proxy is invisible to the server. Anything that needs the token or a
# login is fetched with the login's key and is not part of the page.
_SCRIPT: Final = """
for (const each of document.querySelectorAll("i")) each.replaceWith(location.origin.replace(/^http/, each.title));
const key = localStorage.getItem("filetools-login");
if (key) (async () => {
  const answer = await fetch("/v1/status", {headers: {"Filetools-Login": key}});
  if (!answer.ok) return;
  document.getElementById("root").textContent = (await answer.json()).root;
  document.getElementById("who").textContent = "You are logged in: in this browser you may edit and approve.";
})();
"""
_GUARDED: Final = (
    "Every caller needs the token, in the header <code>Authorization: Bearer …</code>, or a login. The output of"
    " <code>filetools serve</code> names the file with the token."
)
_PAGE: Final = 'Edit files together with agents on <a href="/">the editor page</a>.'
_NO_PAGE: Final = f"The editor page is not installed: <code>{install_command('editor')}</code>"
_HEADER: Final = ' -H "Authorization: Bearer $TOKEN"'
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
a { color: var(--link) }
code, pre { font: .9em/1.5 ui-monospace, monospace }
pre, .note { padding: .6rem .8rem; background: var(--box); border: 1px solid var(--line); border-radius: .5rem }
pre { margin: .5rem 0; white-space: pre-wrap; overflow-wrap: anywhere }
.note { margin: 1.25rem 0; border-left: .25rem solid var(--link) }
.soft, footer { color: var(--soft) }
footer { margin-top: 2.5rem; padding-top: 1rem; border-top: 1px solid var(--line) }
footer a { margin-right: 1.25rem }
"""
# The code is in the URL fragment, which browsers do not send, so that only this script can pass it on.
_LOGIN_SCRIPT: Final = """
const show = text => { document.getElementById("message").textContent = text; };
const code = new URLSearchParams(location.hash.slice(1)).get("code");
history.replaceState(null, "", location.pathname);
(async () => {
  if (!code) { show("This page needs the address that 'filetools serve --open' prints."); return; }
  const answer = await fetch("/login", {
    method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify({code}),
  });
  if (!answer.ok) { show("This code was already used, or has expired. Start 'filetools serve --open' again."); return; }
  const {next, key} = await answer.json();
  localStorage.setItem("filetools-login", key);
  show("You are logged in: in this browser you may edit and approve.");
  if (next) location.replace(next);
})().catch(() => show("The server does not respond."));
"""
_LOGIN_BODY: Final = """<h1>filetools</h1>
<p id="message" role="status">Logging in …</p>
<noscript>Logging in needs JavaScript.</noscript>"""


@router.head("/")
@router.get("/")
async def front(request: Request, shared: SharedParts) -> Response:
    """Return the editor page to a browser, or the about page if it is not installed; return JSON to programs."""
    if not wants_page(request.scope):
        # Names need not be Unicode.
        root = PurePath(shared.files.root_paths[0]).name.encode("utf-8", "replace").decode()
        answer: Response = JSONResponse({"server": "filetools", "root": root, "openapi": "/openapi.json"})
    elif shared.page is not None:
        answer = shared.page.html()
    else:
        answer = _about_page(request, shared)
    answer.headers.update({"Vary": "Accept", "Cache-Control": "no-store"})
    return answer


@router.head("/about")
@router.get("/about")
async def about(request: Request, shared: SharedParts) -> Response:
    """Return the about page, which describes the server."""
    return _about_page(request, shared)


class LoginCode(Parameters):
    """The body of a login."""

    code: str = Field(max_length=200)


@router.head("/login")
@router.get("/login")
async def login_page() -> Response:
    """Return the page."""
    return _page("filetools: log in", _LOGIN_BODY, _LOGIN_SCRIPT)


@router.post("/login")
async def log_in(given: LoginCode, shared: SharedParts, origin: Annotated[str | None, Header()] = None) -> Response:
    """Exchange a login code, which becomes invalid, for a cookie for the browser and a key for the page."""
    if origin is None:
        raise Refusal(
            403, "WRONG_ORIGIN", "Logging in requires the header Origin, because a login is valid only for one origin"
        )
    made = shared.logins.redeem(given.code, origin)
    if made is None:
        raise Refusal(403, "WRONG_CODE", "This code was already used, has expired, or is invalid")
    answer = JSONResponse({"next": "/", "key": made.key}, headers={"Cache-Control": "no-store"})
    answer.set_cookie(
        cookie_name(shared.options.port), made.secret,
        max_age=int(LOGIN_SECONDS), path="/", httponly=True, samesite="strict",
    )  # fmt: skip
    return answer


def _about_page(request: Request, shared: Shared) -> Response:
    """Return the page. It omits the root, since it is public: browsers send no token."""
    host = escape(request.headers["host"])
    http, socket = (f'<i title="{scheme}">{scheme}://{host}</i>' for scheme in ("http", "ws"))
    body = f"""<h1 id="root">filetools</h1>
<p class="soft">A folder that agents, editors and people change together through filetools, without losing work.</p>
<p class="note" id="who" role="status">{_GUARDED}</p>
<h2>Files</h2>
<p>Each file has a URL. Its entity tag is its version; with <code>If-Match</code> only that version is changed.</p>
<pre>curl{_HEADER} {http}/v1/list
curl{_HEADER} {http}/v1/files/<var>PATH</var></pre>
<h2>Tools</h2>
<p>The tools that agents call, with arguments and results as JSON.</p>
<pre>curl{_HEADER} {http}/v1/tools
curl{_HEADER} {http}/v1/tools/grep_files --json '{{"pattern": "TODO"}}'</pre>
<h2>Agents</h2>
<p>The same tools over MCP, for any MCP client that supports HTTP.</p>
<pre>claude mcp add --transport http files {http}/mcp{_HEADER}</pre>
<h2>Editors</h2>
<p>Open documents, changes and approvals in real time, over a WebSocket.</p>
<pre>{socket}/v1/live</pre>
<h2>You</h2>
<p>Start <code>filetools serve --open</code> to log your browser in. Only a person who has logged in can answer approvals.</p>
<p>{_PAGE if shared.page is not None else _NO_PAGE}</p>"""
    return _page("filetools", body, _SCRIPT)


def _page(title: str, body: str, script: str = "") -> Response:
    """Return an HTML page.

    Args:
        title: Plain text for the browser's tab.
        body: HTML in which foreign text is already escaped.
        script: The only script that the page may run.
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
        "Cache-Control": "no-store",
    }
    return HTMLResponse(text, headers=headers)


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
