"""Whole files and folders, for interfaces without versions: what is written is merged from the version that was read."""

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
    """Whole files and folders of one caller, which writes what it made from its last read; lives as long as the caller."""

    def __init__(self, files: FileToolsFacade) -> None:
        self._files = files
        self._read: dict[str, tuple[str, TextFormat | None]] = {}  # no format: bytes that are no text

    async def read(self, path: str) -> bytes:
        """Return the bytes of a file, or of the text that an editor has not saved yet; raises what `read_file` does."""
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
        """Write exactly these bytes where nobody changed what they are made from.

        Else text is merged with what others wrote since, if it is stored as the text that was read; what is not is refused.
        Raises what `write_file` does.
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
        """Delete a file, or a folder with all that is in it; raises what `delete_file` and `delete_directory` do."""
        try:
            await self._files.delete_file(path)
        except PathIsDirectoryError:
            await self._files.delete_directory(path, recursive=True)

    async def entries(self, path: str) -> list[Entry]:
        """Return all that is in a folder; raises what `list_files` does."""
        return [each async for page in pages(partial(self._files.list_files, path)) for each in page.entries]


def _text_of(path: str, content: bytes, form: TextFormat | None) -> str | None:
    """Return the text that bytes hold in a form; None if they are no text, or stored in another form."""
    if form is None or not content.startswith(form.bom) or text_of(content, name=path) is None:
        return None
    try:
        return decode(content, form, path=path)
    except EncodingError:
        return None
