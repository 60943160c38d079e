"""Whole files and folders, for interfaces without versions: what is written is merged from the version that was read."""

from __future__ import annotations

import asyncio
import base64
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from filetools.content import TextFormat, decode, encode, format_named, text_of
from filetools.errors import EncodingError, PathIsDirectoryError
from filetools.facade import FileToolsFacade
from filetools.models import Entry

Base: TypeAlias = tuple[str, TextFormat | None]
"""What a task has read: a version, and how its text is stored; None for bytes that are no text."""


class WholeFiles:
    """Whole files and folders of one actor; lives as long as its adapter.

    A framework reads a file, changes its text and writes it back in one task, while other calls of the same agent go on in
    theirs. So what a task writes is based on what that task has read last; without that, on what its actor knows.
    """

    def __init__(self, files: FileToolsFacade) -> None:
        self._files = files
        self._read: WeakKeyDictionary[asyncio.Task[Any], dict[str, Base]] = WeakKeyDictionary()

    async def read(self, path: str) -> bytes:
        """Return the bytes of a file, or of the text that an editor has not saved yet; raises what `read_file` does."""
        found = await self._files.read_file(path)
        if found.is_binary:
            form, content = None, base64.b64decode(found.content)
        else:
            mark = "\ufeff".encode(found.encoding) if found.bom else b""
            form = TextFormat(encoding=found.encoding, bom=mark)
            content = encode(found.content, form, path=path)
        self._of_task()[path] = found.version, form
        return content

    async def write(self, path: str, content: bytes) -> None:
        """Write bytes. Text is merged with what others wrote since it was read; all else needs that this still stands there.

        Raises what `write_file` does.
        """
        base = self._of_task().pop(path, None)
        text = _text_of(path, content, base)
        await self._files.write_file(
            path,
            content if text is None else text,
            expected_version=None if base is None else base[0],
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
        page = await self._files.list_files(path)
        entries = page.entries
        while page.next_cursor is not None:
            page = await self._files.list_files(path, cursor=page.next_cursor)
            entries += page.entries
        return entries

    def _of_task(self) -> dict[str, Base]:
        task = asyncio.current_task()
        assert task is not None
        return self._read.setdefault(task, {})


def _text_of(path: str, content: bytes, base: Base | None) -> str | None:
    form = format_named("utf-8") if base is None else base[1]
    if form is None or text_of(content, name=path) is None:
        return None
    try:
        return decode(content, form, path=path)
    except EncodingError:
        return None
