"""Serves the editor page: its own files and Monaco's, each at an address that changes with the content."""

from __future__ import annotations

import hashlib
from importlib import import_module
from pathlib import Path
from typing import Final

from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from filetools.distribution import installed_version

ASSETS: Final = "/assets"
"""Path prefix of the page's files; they are served without a login."""
POLICY: Final = (
    "default-src 'none'; script-src 'self'; worker-src 'self' blob:; style-src 'self' 'unsafe-inline';"
    " font-src 'self' data:; img-src 'self' data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Content Security Policy of the page; Monaco needs inline styles and starts workers from blobs."""
_FOLDER: Final = Path(__file__).with_name("web")
_TEMPLATE: Final = "index.html"
_FOREVER: Final = "public, max-age=31536000, immutable"
_GUARDED: Final = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
}


class EditorPage:
    """The page and its files."""

    def __init__(self) -> None:
        contents = {entry.name: entry.read_bytes() for entry in sorted(_FOLDER.iterdir()) if entry.is_file()}
        facts = b"\0".join(name.encode() + b"\0" + content for name, content in contents.items())
        # Of all files together, because modules import each other by relative addresses.
        base = f"{ASSETS}/{hashlib.sha256(facts).hexdigest()[:16]}"
        monaco, monaco_folder = (
            f"{ASSETS}/monaco-{installed_version('rocher')}/vs",
            Path(import_module("rocher").path()),
        )
        self.files = {
            monaco: PageFiles(monaco_folder, _FOREVER),
            base: PageFiles(_FOLDER, _FOREVER),
            ASSETS: PageFiles(_FOLDER, "no-cache"),  # for other pages, which import `live.js`
        }
        """The applications that serve the files, by path prefix; the first that fits is responsible."""
        html = contents[_TEMPLATE].decode()
        # Without it, the page works but loads the core later.
        core = next((each.name for each in monaco_folder.glob("editor.api-*.js")), "")
        # Without preloading, a browser requests a module only after reading one that imports it.
        modules = "\n".join(
            f'<link rel="modulepreload" href="{base}/{name}">' for name in contents if name.endswith(".js")
        )
        named = {"base": base, "monaco": monaco, "core": core, "modules": modules}
        for name, value in named.items():
            html = html.replace(f"{{{{{name}}}}}", value)
        self._html = html

    def html(self) -> Response:
        """Return the page, which is the same for everybody and contains no workspace data."""
        return Response(self._html, media_type="text/html", headers=_GUARDED | {"Cache-Control": "no-store"})


class PageFiles(StaticFiles):
    """Files of a folder, byte for byte.

    Args:
        folder: The folder.
        caching: Value of the header `Cache-Control`; files at an address that changes with them may be kept forever.
    """

    def __init__(self, folder: Path, caching: str) -> None:
        super().__init__(directory=folder)
        self._caching = caching

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file."""
        if path == _TEMPLATE:
            raise HTTPException(404)
        answer = await super().get_response(path, scope)
        answer.headers.update(_GUARDED | {"Cache-Control": self._caching})
        return answer


def installed_page() -> EditorPage | None:
    """Return the page, or None if the extra `editor` is not installed."""
    try:
        return EditorPage() if installed_version("rocher") is not None else None
    except ModuleNotFoundError:  # the package was removed, but its metadata remains
        return None
