"""Whole files and folders, for interfaces without versions: a write is merged on the basis of the version that was read."""

from __future__ import annotations

import base64
import codecs
from functools import partial

from filetools.content.facts import text_of
from filetools.content.formats import UTF8, TextFormat, decode, encode, format_named
from filetools.errors import EncodingError, PathIsDirectoryError
from filetools.facade.facade import FileToolsFacade
from filetools.models.searching import Entry
from filetools.tools.handlers.reading import pages


class WholeFiles:
    """Whole files and folders of one caller; each write is based on the caller's last read of the file."""

    def __init__(self, files: FileToolsFacade) -> None:
        self._files = files
        self._read: dict[str, tuple[str, TextFormat | None]] = {}  # no format: binary

    async def read(self, path: str) -> bytes:
        """Return the bytes of a file, or of the text that an editor has not saved yet; raises the errors of `read_file`."""
        found = await self._files.read_file(path)
        if found.is_binary:
            form, content = None, base64.b64decode(found.content)
        else:
            mark = "\ufeff".encode(found.encoding) if found.bom else b""
            form = TextFormat(encoding=found.encoding, bom=mark) if mark or found.encoding != "utf-8" else UTF8
            content = encode(found.content, form, path=path)
        self._read[path] = found.version, form
        return content

    async def write(self, path: str, content: bytes) -> None:
        """Write exactly these bytes if the file has not changed since it was read.

        Otherwise text in the format of the read text is merged with others' changes, and anything else is refused.
        Raises the same errors as `write_file`.
        """
        own = "utf-8-sig" if content.startswith(codecs.BOM_UTF8) else "utf-8"
        version, form = self._read.pop(path, (None, format_named(own)))
        text = _text_of(path, content, form)
        await self._files.write_file(
            path,
            content if text is None else text,
            expected_version=version,
            encoding=own if text is not None and version is None else None,
            newline="exact",
            on_stale=None if text is None else "merge",
            require_read=True,
        )

    async def remove(self, path: str) -> None:
        """Delete a file, or a folder with everything in it; raises the errors of `delete_file` and `delete_directory`."""
        try:
            await self._files.delete_file(path)
        except PathIsDirectoryError:
            await self._files.delete_directory(path, recursive=True)

    async def entries(self, path: str) -> list[Entry]:
        """Return all entries of a folder; raises the errors of `list_files`."""
        return [each async for page in pages(partial(self._files.list_files, path)) for each in page.entries]


def _text_of(path: str, content: bytes, form: TextFormat | None) -> str | None:
    """Return the text of bytes in a format; None if they are binary, or text in another format."""
    if form is None or not content.startswith(form.bom) or text_of(content, name=path) is None:
        return None
    try:
        return decode(content, form, path=path)
    except EncodingError:
        return None
