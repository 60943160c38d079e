"""Serves the editor page: its own files and Monaco's, each at an address that changes with the content."""

from __future__ import annotations

import hashlib
from importlib import import_module
from importlib.resources import files as package_files
from pathlib import Path
from typing import Final

from fastapi.responses import FileResponse, Response
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
_MEDIA_TYPES: Final = {".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".svg": "image/svg+xml"}
_CHUNK_BYTES: Final = 1024 * 1024
"""Large chunks: the page waits for Monaco's largest file (3.7 MB), and each chunk costs a switch to a thread."""
_FOREVER: Final = "public, max-age=31536000, immutable"
_GUARDED: Final = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
}


class EditorPage:
    """The page and its files, read once when the server starts."""

    def __init__(self) -> None:
        folder = package_files("filetools.servers.http") / "web"
        contents = {
            entry.name: entry.read_bytes() for entry in folder.iterdir() if Path(entry.name).suffix in _MEDIA_TYPES
        }
        facts = b"\0".join(name.encode() + b"\0" + contents[name] for name in sorted(contents))
        self.digest = hashlib.sha256(facts).hexdigest()[:16]
        """Digest of all files together, because modules import each other by relative addresses."""
        self.monaco = f"{ASSETS}/monaco-{installed_version('rocher')}/vs"
        """Path prefix of Monaco's files."""
        html = contents.pop("index.html").decode()
        found = (each.name for each in _monaco_folder().glob("editor.api-*.js"))
        core = next(found, "")  # without it, the page works but loads the core later
        base = f"{ASSETS}/{self.digest}"
        # Without preloading, a browser requests a module only after reading one that imports it.
        modules = "\n".join(
            f'<link rel="modulepreload" href="{base}/{name}">' for name in contents if name.endswith(".js")
        )
        named = {"base": base, "monaco": self.monaco, "core": core, "modules": modules}
        for name, value in named.items():
            html = html.replace(f"{{{{{name}}}}}", value)
        self._html = html
        self._contents = contents

    def html(self) -> Response:
        """Return the page, which is the same for everybody and contains no workspace data."""
        return Response(self._html, media_type="text/html", headers=_GUARDED | {"Cache-Control": "no-store"})

    def file(self, digest: str | None, name: str, known: str = "") -> Response | None:
        """Return a file of the page; None if the name or the digest is unknown.

        Args:
            digest: The requested digest; browsers may cache the response forever. None requests the current file, which
                browsers must revalidate.
            name: File name such as `live.js`.
            known: The `If-None-Match` header of the request.
        """
        content = self._contents.get(name)
        if content is None or digest not in (None, self.digest):
            return None
        tag = f'"{self.digest}"'
        lasting = {"Cache-Control": _FOREVER} if digest else {"Cache-Control": "no-cache", "ETag": tag}
        if not digest and tag in known:
            return Response(status_code=304, headers=lasting)
        return Response(content, media_type=_MEDIA_TYPES[Path(name).suffix], headers=_GUARDED | lasting)


class MonacoFiles(StaticFiles):
    """Monaco's files, byte for byte as the package `rocher` contains them."""

    def __init__(self) -> None:
        super().__init__(directory=_monaco_folder())

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file; browsers may cache it forever because its address contains the version."""
        answer = await super().get_response(path, scope)
        if isinstance(answer, FileResponse):
            answer.chunk_size = _CHUNK_BYTES
        answer.headers.update(_GUARDED | {"Cache-Control": _FOREVER})
        return answer


def _monaco_folder() -> Path:
    return Path(import_module("rocher").path())


def installed_page() -> EditorPage | None:
    """Return the page, or None if the extra `editor` is not installed."""
    try:
        return EditorPage() if installed_version("rocher") is not None else None
    except ModuleNotFoundError:  # the package was removed, but its metadata remains
        return None
