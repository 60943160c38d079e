"""Routes of what people read in a browser; programs that ask for the address itself are told where things are."""

from __future__ import annotations

from html import escape
from pathlib import PurePath
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from filetools.distribution import install_command
from filetools.servers.http.page import page
from filetools.servers.http.problems import Refusal
from filetools.servers.http.reference_page import reference_page
from filetools.servers.http.security import wants_page
from filetools.servers.http.shared import Shared, SharedParts

router: Final = APIRouter(include_in_schema=False)
# A proxy may have TLS, of which the server knows nothing: the browser knows under which address it is called. What needs
# the token or a login is fetched with the login's key, and is not in the page.
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
_FREE: Final = "Nobody needs a token here: whatever runs on this machine may read and change these files."
_GUARDED: Final = "Every caller needs the token, as the header <code>Authorization: Bearer …</code>, or a login."
_PAGE: Final = 'You edit beside agents on <a href="/">the editor page</a>.'
_NO_PAGE: Final = f"A page to edit beside agents is not installed: <code>{install_command('editor')}</code>"
_HEADER: Final = ' -H "Authorization: Bearer $TOKEN"'


@router.head("/")
@router.get("/")
async def front(request: Request, shared: SharedParts) -> Response:
    """Return the editor page to a browser, or what is served here where it is not installed; JSON to programs."""
    if not wants_page(request.scope):
        root = _name(shared.files.root_paths[0])
        answer: Response = JSONResponse(
            {"server": "filetools", "root": root, "openapi": "/openapi.json", "docs": "/docs"}
        )
    elif shared.page is not None:
        answer = shared.page.html()
    else:
        answer = _about_page(request, shared)
    answer.headers.update({"Vary": "Accept", "Cache-Control": "no-store"})
    return answer


@router.head("/about")
@router.get("/about")
async def about(request: Request, shared: SharedParts) -> Response:
    """Return the page about what is served here."""
    return _about_page(request, shared)


@router.head("/assets/{name}")
@router.get("/assets/{name}")
@router.head("/assets/{digest}/{name}")
@router.get("/assets/{digest}/{name}")
async def asset(request: Request, shared: SharedParts) -> Response:
    """Return a file of the editor page: by the digest for that page, without it for whoever uses `live.js` alone."""
    asked = request.path_params
    known = request.headers.get("if-none-match", "")
    found = None if shared.page is None else shared.page.file(asked.get("digest"), asked["name"], known)
    if found is None:
        raise Refusal(404, "NO_SUCH_ROUTE", "The page has no such file")
    return found


@router.head("/docs")
@router.get("/docs")
async def reference(request: Request) -> Response:
    """Return the reference of all routes, which is the same for everybody."""
    return reference_page(request.app.openapi())


def _name(root: str) -> str:
    return PurePath(root).name.encode("utf-8", "replace").decode()  # names need not be Unicode


def _about_page(request: Request, shared: Shared) -> Response:
    """Return the page; where a token is needed it names no root, for it is everybody's: browsers send none with an address."""
    host = request.headers["host"]
    root = None if shared.options.token is not None else _name(shared.files.root_paths[0])
    is_guarded = root is None
    http, socket = (f'<i title="{scheme}">{scheme}://{escape(host)}</i>' for scheme in ("http", "ws"))
    sent = _HEADER if is_guarded else ""
    description = "" if is_guarded else '<a href="/openapi.json">OpenAPI description</a>'
    body = f"""<h1 id="root">{"filetools" if root is None else escape(root)}</h1>
<p class="soft">A folder that agents, editors and people share through filetools, and nobody's work is lost.</p>
<p class="note" id="who" role="status">{_GUARDED if is_guarded else _FREE}</p>
<h2>Files</h2>
<p>Each has an address. Its entity tag is its version; with <code>If-Match</code> only that version is changed.</p>
<pre>curl{sent} {http}/v1/list
curl{sent} {http}/v1/files/<var>PATH</var></pre>
<h2>Tools</h2>
<p>What agents call, with arguments and results as JSON.</p>
<pre>curl{sent} {http}/v1/tools
curl{sent} {http}/v1/tools/grep_files --json '{{"pattern": "TODO"}}'</pre>
<h2>Agents</h2>
<p>The same tools over MCP, for any client that speaks HTTP.</p>
<pre>claude mcp add --transport http files {http}/mcp{sent}</pre>
<h2>Editors</h2>
<p>Open documents, changes and approvals as they happen, over a WebSocket.</p>
<pre>{socket}/v1/live</pre>
<h2>You</h2>
<p>Start <code>filetools serve --open</code>: it logs your browser in. Only a person who has logged in answers approvals.</p>
<p>{_PAGE if shared.page is not None else _NO_PAGE}</p>
<footer><a href="/docs">All routes</a>{description}</footer>"""
    return page(f"{escape(root)} · filetools" if root is not None else "filetools", body, _SCRIPT)
