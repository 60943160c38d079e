"""deepagents: a backend. Its paths begin with "/", which is the root of the workspace."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, Final

from msgspec.structs import replace

from filetools.adapters.answering import Call, HomeLoop, T, error_formatter
from filetools.adapters.whole_files import WholeFiles
from filetools.content.ends import with_ends
from filetools.distribution import require_extra
from filetools.errors import FileToolsError, InvalidArgumentError, InvalidPathError
from filetools.facade.facade import FileToolsFacade
from filetools.models.searching import Entry
from filetools.paths.patterns import glob_below
from filetools.tools.handlers.reading import pages

require_extra("deepagents", __name__, "deepagents")

from deepagents.backends import protocol as wire
from deepagents.backends.utils import normalize_read_bounds
from langchain_core.runnables.config import var_child_runnable_config

MOST_FOUND: Final = 10_000
"""Maximum number of files or lines of one search; with more, the result is marked as truncated."""
_CODES: Final = {
    "FILE_NOT_FOUND": wire.FILE_NOT_FOUND, "IS_A_DIRECTORY": wire.IS_DIRECTORY, "PERMISSION_DENIED": wire.PERMISSION_DENIED,
    "INVALID_PATH": wire.INVALID_PATH, "PATH_TRAVERSAL": wire.INVALID_PATH,
}  # fmt: skip
_error_text = error_formatter(
    "read_file write_file edit_file list_files=ls search_files=glob grep_files=grep delete_file=delete",
    INVALID_PATH="Name it by a path that begins with '/', the root of the workspace.",
    PATH_TRAVERSAL="Write the path from '/', the root of the workspace, without '..'.",
    VERSION_MISMATCH="Read it and repeat the call; use edit_file where one read_file does not show the whole file.",
    FILE_TOO_LARGE="Only lines of text can be read from it. Continue without it, or ask the user to raise the limit.",
)


def _twins(kind: Callable[..., T], method: Call[..., T]) -> tuple[Callable[..., T], Call[..., T]]:
    """Return a blocking and an async method; both return errors as a result of this kind."""

    async def answered(backend: FileToolsBackend, *arguments: Any, **options: Any) -> T:
        try:
            return await method(backend, *arguments, **options)
        except FileToolsError as error:
            return kind(error=_error_text(error))

    def waited(backend: FileToolsBackend, *arguments: Any, **options: Any) -> T:
        return backend._home.waited(answered, backend, *arguments, **options)

    async def awaited(backend: FileToolsBackend, *arguments: Any, **options: Any) -> T:
        return await backend._home.awaited(answered, backend, *arguments, **options)

    return wraps(method)(waited), wraps(method)(awaited)


class FileToolsBackend(wire.BackendProtocol):
    """A `BackendProtocol` for one agent and its sub-agents, which share its name; usable while the workspace is open.

    Args:
        files: The agent's own facade: `files.for_actor(…)`.
    """

    def __init__(self, files: FileToolsFacade) -> None:
        self._agents = files
        self._home = HomeLoop(files)

    @property
    def _files(self) -> FileToolsFacade:
        """The facade of the current session: each thread of a graph and run of a sub-agent has its own record of reads."""
        named = (var_child_runnable_config.get() or {}).get("configurable", {})
        run = named.get("checkpoint_ns", "").rpartition("|")[0]
        session = "/".join(filter(None, (self._agents.actor.session, str(named.get("thread_id") or ""), run)))
        return self._agents.for_actor(replace(self._agents.actor, session=session or None), ephemeral=bool(run))

    async def _ls(self, path: str) -> wire.LsResult:
        return wire.LsResult(entries=[_info(each) for each in await WholeFiles(self._files).entries(_inside(path))])

    async def _read(self, file_path: str, offset: int = 0, limit: int = 2000) -> wire.ReadResult:
        """Read lines of a file with LF as line end, as many as the middleware shows; a binary file as base64."""
        path, (offset, limit) = _inside(file_path), normalize_read_bounds(offset, limit)
        files, most = self._files, self._agents.settings.max_text_characters
        try:
            found = await files.read_file(path, offset=offset + 1, limit=max(limit, 1), max_characters=most)
        except InvalidArgumentError:  # the numbers are in range, so it has no lines
            whole = await files.read_file(path)
            return wire.ReadResult(file_data=wire.FileData(content=whole.content, encoding=whole.encoding))
        end = (found.total_lines or 0) if found.next_offset is None else found.next_offset - 1
        content = with_ends(found.content, "\n")
        if found.next_column is not None:
            end, content = offset + 1, f"{content}\n\n[Line {offset + 1} has more than these {most} characters]"
        if end <= offset and found.total_lines:
            return wire.ReadResult(error=f"Line offset {offset} exceeds file length ({found.total_lines} lines)")
        if end > offset and not limit:
            return wire.ReadResult(file_data=wire.FileData(content="", encoding="utf-8"), no_lines_requested=True)
        more = end if found.truncated and end != found.total_lines else None
        window = (found.total_lines, offset + 1, end, more) if end > offset else ()
        return wire.ReadResult(None, wire.FileData(content=content, encoding="utf-8"), *window)

    async def _write(self, file_path: str, content: str) -> wire.WriteResult:
        """Write a whole file, merged with others' changes since this agent read all of it; line ends stay."""
        where = f"{_inside(file_path)}/" if file_path.endswith("/") else _inside(file_path)  # refused, as a folder's
        await self._files.write_file(where, content, newline="keep", require_read=True)
        return wire.WriteResult(path=file_path)

    async def _edit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> wire.EditResult:
        old, new = with_ends(old_string, "\n"), with_ends(new_string, "\n")
        made = await self._files.edit_file(_inside(file_path), old=old, new=new, replace_all=replace_all)
        return wire.EditResult(path=file_path, occurrences=sum(made.counts))

    async def _delete(self, file_path: str) -> wire.DeleteResult:
        await WholeFiles(self._files).remove(_inside(file_path))
        return wire.DeleteResult(path=file_path)

    async def _glob(self, pattern: str, path: str | None = None) -> wire.GlobResult:
        """Find files by a glob; hidden ones only if it names them."""
        where, found = _inside(path), list[wire.FileInfo]()
        glob, is_hidden = glob_below(where, pattern), any(part.startswith(".") for part in pattern.split("/"))
        async for page in pages(partial(self._files.search_files, glob, path=where, all=is_hidden, limit=1000)):
            found += [_info(each) for each in page.entries if each.type == "file"]
            if page.next_cursor is not None and len(found) >= MOST_FOUND:
                return wire.GlobResult(None, found, True, "budget")
        reason: wire.GlobTruncationReason | None = None if page.total_is_complete else "unreadable"
        return wire.GlobResult(None, found, reason is not None, reason)

    async def _grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> wire.GrepResult:
        if "\n" in pattern:
            raise InvalidArgumentError("The pattern has a line end, and a match lies within one line")
        where, found, cursor, is_whole = _inside(path), list[wire.GrepMatch](), None, True
        most = MOST_FOUND if max_count is None else max(0, min(max_count, MOST_FOUND))
        find = partial(self._files.grep_files, pattern, literal=True, path=where, glob=glob and glob_below(where, glob))
        while True:
            page = await find(limit=max(1, min(1000, most - len(found))), cursor=cursor)
            found += [wire.GrepMatch(path=f"/{each.path}", line=each.line, text=each.text) for each in page.matches]
            is_whole, cursor = is_whole and not page.warnings, page.next_cursor
            if cursor is None or len(found) >= most:
                return wire.GrepResult(None, found[:most], cursor is not None or not is_whole or len(found) > most)

    async def _upload_files(self, files: list[tuple[str, bytes]]) -> list[wire.FileUploadResponse]:
        whole = WholeFiles(self._files)
        return [wire.FileUploadResponse(path, (await _tried(whole.write, path, each))[1]) for path, each in files]

    async def _download_files(self, paths: list[str]) -> list[wire.FileDownloadResponse]:
        whole = WholeFiles(self._files)
        return [wire.FileDownloadResponse(path, *await _tried(whole.read, path)) for path in paths]

    ls, als = _twins(wire.LsResult, _ls)
    read, aread = _twins(wire.ReadResult, _read)
    write, awrite = _twins(wire.WriteResult, _write)
    edit, aedit = _twins(wire.EditResult, _edit)
    delete, adelete = _twins(wire.DeleteResult, _delete)
    glob, aglob = _twins(wire.GlobResult, _glob)
    grep, agrep = _twins(wire.GrepResult, _grep)
    upload_files, aupload_files = _twins(list[wire.FileUploadResponse], _upload_files)
    download_files, adownload_files = _twins(list[wire.FileDownloadResponse], _download_files)


async def _tried(call: Call[..., T], path: str, *content: bytes) -> tuple[T | None, str | None]:
    """Return what a call returns, or the error."""
    try:
        return await call(_inside(path), *content), None
    except FileToolsError as error:
        return None, _CODES.get(error.code) or _error_text(error)


def _inside(path: str | None) -> str:
    if path is None or path.startswith("/"):
        return (path or "").strip("/")
    raise InvalidPathError(path, "it must begin with '/', the root of the workspace")


def _info(entry: Entry) -> wire.FileInfo:
    is_dir = entry.type == "directory"
    return wire.FileInfo(path=f"/{entry.path}/" if is_dir else f"/{entry.path}", is_dir=is_dir, size=entry.size or 0)
