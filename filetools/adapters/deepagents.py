"""deepagents: a backend whose files are ours. Its paths begin with "/", which is the root of the workspace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeAlias, TypeVar

from filetools.adapters.answering import telling, wait_on
from filetools.adapters.whole_files import WholeFiles
from filetools.distribution import require_extra
from filetools.errors import FileToolsError, InvalidArgumentError, InvalidPathError
from filetools.facade import FileToolsFacade
from filetools.models import Entry
from filetools.paths.patterns import glob_below

require_extra("deepagents", __name__, "deepagents")

from deepagents.backends import protocol as wire
from deepagents.backends.utils import normalize_read_bounds

P = ParamSpec("P")
R = TypeVar("R")

MOST_FOUND: Final = 10_000
"""Files or lines of one search; with more, its result says that it is truncated."""
_CODES: Final = {
    "FILE_NOT_FOUND": wire.FILE_NOT_FOUND, "IS_A_DIRECTORY": wire.IS_DIRECTORY, "PERMISSION_DENIED": wire.PERMISSION_DENIED,
    "INVALID_PATH": wire.INVALID_PATH, "PATH_TRAVERSAL": wire.INVALID_PATH,
}  # fmt: skip
_told = telling("read_file write_file edit_file list_files=ls search_files=glob grep_files=grep delete_file=delete")
_Waited: TypeAlias = Callable[Concatenate["FileToolsBackend", P], R]
_Awaited: TypeAlias = Callable[Concatenate["FileToolsBackend", P], Coroutine[Any, Any, R]]


def _twins(kind: Callable[..., R], method: _Awaited[P, R]) -> tuple[_Waited[P, R], _Awaited[P, R]]:
    """Return a method that waits and one to await; both return errors as a result of this kind."""

    @wraps(method)
    async def answered(backend: FileToolsBackend, /, *arguments: P.args, **options: P.kwargs) -> R:
        try:
            return await method(backend, *arguments, **options)
        except FileToolsError as error:
            return kind(error=_told(error))

    @wraps(method)
    def waited(backend: FileToolsBackend, /, *arguments: P.args, **options: P.kwargs) -> R:
        return wait_on(backend.loop, answered(backend, *arguments, **options))

    return waited, answered


class FileToolsBackend(wire.BackendProtocol):
    """A `BackendProtocol` for one agent; made on the workspace's event loop, lives as long as the workspace is open.

    Args:
        files: The agent's own facade: `files.for_actor(…)`.
    """

    def __init__(self, files: FileToolsFacade) -> None:
        self.loop: Final = asyncio.get_running_loop()
        self._files = files
        self._whole = WholeFiles(files)

    async def _ls(self, path: str) -> wire.LsResult:
        """List what is in a folder; the paths of folders end with "/"."""
        return wire.LsResult(entries=[_info(each) for each in await self._whole.entries(_inside(path))])

    async def _read(self, file_path: str, offset: int = 0, limit: int = 2000) -> wire.ReadResult:
        """Read lines of a file with LF as line end; or, as base64, all of a file that is no text."""
        path, (offset, limit) = _inside(file_path), normalize_read_bounds(offset, limit)
        try:
            found = await self._files.read_file(path, offset=offset + 1, limit=max(limit, 1))
        except InvalidArgumentError:  # the numbers are in range, so it has no lines
            whole = await self._files.read_file(path)
            return wire.ReadResult(file_data=wire.FileData(content=whole.content, encoding=whole.encoding))
        end = (found.total_lines or 0) if found.next_offset is None else found.next_offset - 1
        if end <= offset and found.total_lines:
            return wire.ReadResult(error=f"Line offset {offset} exceeds file length ({found.total_lines} lines)")
        if end > offset and not limit:
            return wire.ReadResult(file_data=wire.FileData(content="", encoding="utf-8"), no_lines_requested=True)
        window = (found.total_lines, offset + 1, end, end if found.truncated else None) if end > offset else ()
        return wire.ReadResult(None, wire.FileData(content=_lf(found.content), encoding="utf-8"), *window)

    async def _write(self, file_path: str, content: str) -> wire.WriteResult:
        """Write a whole file, merged with what others wrote since this agent read all of it."""
        await self._files.write_file(_inside(file_path), content, require_read=True)
        return wire.WriteResult(path=file_path)

    async def _edit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> wire.EditResult:
        """Replace a text in what stands there now."""
        old, new = _lf(old_string), _lf(new_string)
        made = await self._files.edit_file(_inside(file_path), old=old, new=new, replace_all=replace_all)
        return wire.EditResult(path=file_path, occurrences=sum(made.counts))

    async def _delete(self, file_path: str) -> wire.DeleteResult:
        """Delete a file, or a folder with all that is in it."""
        await self._whole.remove(_inside(file_path))
        return wire.DeleteResult(path=file_path)

    async def _glob(self, pattern: str, path: str | None = None) -> wire.GlobResult:
        """Find files by a glob; hidden ones only where it names them."""
        where, found, cursor = _inside(path), list[wire.FileInfo](), None
        glob, is_hidden = glob_below(where, pattern), any(part.startswith(".") for part in pattern.split("/"))
        while True:
            page = await self._files.search_files(glob, path=where, all=is_hidden, limit=1000, cursor=cursor)
            found += [_info(each) for each in page.entries if each.type == "file"]
            if (cursor := page.next_cursor) is None:
                reason: wire.GlobTruncationReason | None = None if page.total_is_complete else "unreadable"
                return wire.GlobResult(None, found, reason is not None, reason)
            if len(found) >= MOST_FOUND:
                return wire.GlobResult(None, found, True, "budget")

    async def _grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> wire.GrepResult:
        """Find a literal text in lines of files."""
        where, found, cursor, is_whole = _inside(path), list[wire.GrepMatch](), None, True
        only, most = glob and glob_below(where, glob), min(max_count or MOST_FOUND, MOST_FOUND)
        while True:
            page = await self._files.grep_files(
                pattern, literal=True, path=where, glob=only, limit=min(1000, most - len(found)), cursor=cursor
            )
            found += [wire.GrepMatch(path=f"/{each.path}", line=each.line, text=each.text) for each in page.matches]
            is_whole, cursor = is_whole and not page.warnings, page.next_cursor
            if cursor is None or len(found) >= most:
                return wire.GrepResult(None, found, cursor is not None or not is_whole)

    async def _upload_files(self, files: list[tuple[str, bytes]]) -> list[wire.FileUploadResponse]:
        """Write whole files, each for itself."""
        answers = [wire.FileUploadResponse(path) for path, _ in files]
        for answer, (path, content) in zip(answers, files, strict=True):
            try:
                await self._whole.write(_inside(path), content)
            except FileToolsError as error:
                answer.error = _CODES.get(error.code) or _told(error)
        return answers

    async def _download_files(self, paths: list[str]) -> list[wire.FileDownloadResponse]:
        """Read whole files, each for itself."""
        answers = [wire.FileDownloadResponse(path) for path in paths]
        for answer in answers:
            try:
                answer.content = await self._whole.read(_inside(answer.path))
            except FileToolsError as error:
                answer.error = _CODES.get(error.code) or _told(error)
        return answers

    ls, als = _twins(wire.LsResult, _ls)
    read, aread = _twins(wire.ReadResult, _read)
    write, awrite = _twins(wire.WriteResult, _write)
    edit, aedit = _twins(wire.EditResult, _edit)
    delete, adelete = _twins(wire.DeleteResult, _delete)
    glob, aglob = _twins(wire.GlobResult, _glob)
    grep, agrep = _twins(wire.GrepResult, _grep)
    upload_files, aupload_files = _twins(list, _upload_files)
    download_files, adownload_files = _twins(list, _download_files)


def _inside(path: str | None) -> str:
    if path is not None and not path.startswith("/"):
        raise InvalidPathError(path, "it must begin with '/', the root of the workspace")
    return "" if path is None else path.strip("/")


def _lf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _info(entry: Entry) -> wire.FileInfo:
    is_dir = entry.type == "directory"
    return wire.FileInfo(path=f"/{entry.path}/" if is_dir else f"/{entry.path}", is_dir=is_dir, size=entry.size or 0)
