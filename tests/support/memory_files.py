"""A complete workspace in memory, as tools see it; able to fail, or to hang, on demand."""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar

from filetools.content.diff import structured_patch
from filetools.content.edits import Edit, apply_edits, insert_lines
from filetools.content.patches import parse_patch
from filetools.content.text_edits import TextEdit, apply_text_edits
from filetools.descriptors.descriptors import Descriptors
from filetools.descriptors.memory import MemoryTable, MemoryTexts
from filetools.errors import (
    BatchFailedError,
    BufferClosedError,
    DirectoryNotEmptyError,
    DirectoryNotFoundError,
    FileToolsError,
    PathExistsError,
    PathIsDirectoryError,
    PathNotFoundError,
    RunNotFoundError,
    VersionMismatchError,
)
from filetools.events.bus import EventBus
from filetools.events.types import Event
from filetools.models.buffers import BufferChange, BufferClose, BufferResult, BufferSave
from filetools.models.files import (
    BatchResult,
    DeleteResult,
    DiffResult,
    DirectoryResult,
    EditResult,
    InfoResult,
    MoveResult,
    PatchedFile,
    PatchResult,
    ReadBatchResult,
    ReadItem,
    ReadResult,
    WriteResult,
)
from filetools.models.history import UndoResult
from filetools.models.listing import Entry, ListResult
from filetools.models.records import Actor, ChangedFile
from filetools.models.searching import ChangeEntry, GrepFile, GrepMatch, GrepResult, SearchResult, WatchResult
from filetools.models.words import OnConflict
from filetools.paths.patterns import Glob, is_glob
from filetools.project.folder import ProjectFolder
from filetools.project.registry import Registry
from filetools.sessions.discovery import Discovery, metadata
from filetools.sessions.runs import Run
from filetools.settings import Settings

MOMENT = datetime(2024, 1, 2, tzinfo=UTC)
T = TypeVar("T")


def _text(content: str | bytes) -> str:
    return content if isinstance(content, str) else content.decode()


def version_of(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


@dataclass
class Tree:
    """What all actors on one memory workspace share."""

    texts: dict[str, str] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    documents: dict[str, OpenBuffer] = field(default_factory=dict)
    descriptors: Descriptors = field(default_factory=Descriptors)
    registry: MemoryTable = field(default_factory=lambda: MemoryTable(MemoryTexts()))
    runs: dict[str, Run] = field(default_factory=dict)
    failures: list[BaseException] = field(default_factory=list)
    """Raised by the next calls, one each, before they do anything."""
    calls: list[tuple[str, Actor]] = field(default_factory=list)
    changed: list[ChangedFile] = field(default_factory=list)
    """What `changed_since_read` tells, once."""
    undone: list[dict[str, Any]] = field(default_factory=list)
    """What undo was asked for."""
    changes: list[ChangeEntry] = field(default_factory=list)
    """What `watch_changes` tells; a position is a place in it."""
    hang: asyncio.Event | None = None
    """While set to an event, calls wait for it before they do anything."""


@dataclass
class OpenBuffer:
    """One document of a memory workspace: the edits of everybody count its version up."""

    path: str
    text: str
    version: int = 1


class MemoryDescriptors:
    """Descriptors of a memory workspace: those of all actors together."""

    def __init__(self, descriptors: Descriptors) -> None:
        self.settings = descriptors.settings
        self._descriptors = descriptors

    async def run(self, work: Callable[[Descriptors], T]) -> T:
        return work(self._descriptors)


class MemoryDocuments:
    """Documents of a memory workspace; a handle is the path, and nothing that others typed is carried over."""

    def __init__(self, files: MemoryFiles) -> None:
        self._files = files
        self._open = files.tree.documents

    async def open(self, path: str) -> BufferResult:
        await self._files._enter("buffers.open")
        self._open.setdefault(path, OpenBuffer(path, self._files.tree.texts.get(path, "")))
        return await self.read(path)

    async def read(self, handle: str) -> BufferResult:
        document = self._held(handle)
        saved = self._files.tree.texts.get(document.path)
        return BufferResult(
            handle=handle, path=document.path, text=document.text, buffer_version=document.version,
            version=version_of(document.text), disk_version=None if saved is None else version_of(saved),
            dirty=saved != document.text, behind=False, encoding="utf-8", bom=False, newline="lf",
        )  # fmt: skip

    async def change(
        self, handle: str, *, buffer_version: int, edits: Sequence[TextEdit] | None = None, text: str | None = None
    ) -> BufferChange:
        await self._files._enter("buffers.change")
        document = self._held(handle)
        document.text = apply_text_edits(document.text, edits or ()) if text is None else text
        document.version += 1
        return BufferChange(buffer_version=document.version, dirty=True, edits=[])

    async def save(self, handle: str, *, buffer_version: int | None = None) -> BufferSave:
        await self._files._enter("buffers.save")
        document = self._held(handle)
        written = self._files._write(document.path, document.text, None)
        return BufferSave(path=document.path, version=written.version, buffer_version=document.version, dirty=False)

    async def close(self, handle: str) -> BufferClose:
        await self._files._enter("buffers.close")
        return BufferClose(path=self._open.pop(self._held(handle).path).path, kept_version=None)

    def _held(self, handle: str) -> OpenBuffer:
        if handle not in self._open:
            raise BufferClosedError
        return self._open[handle]


class MemoryProjects:
    """Implements `ProjectTable` where no folder lies on a disk."""

    def __init__(self, table: MemoryTable, bus: EventBus) -> None:
        self._registry = Registry(table, base="/project", clock=time.time, publish=bus.publish, remote=lambda _: None)

    async def look(
        self,
        tool: str,
        path: str | None,
        work: Callable[[ProjectFolder], T],
        *,
        project_id: str | None = None,
        top: Callable[[str, str | None], str] | None = None,
        allowed: Sequence[str] = (),
    ) -> T:
        raise DirectoryNotFoundError(path or "")

    async def run(self, work: Callable[[Registry], T]) -> T:
        return work(self._registry)


class MemoryRuns:
    """Runs of a memory workspace, which have made nothing."""

    def __init__(self, runs: Mapping[str, Run]) -> None:
        self._runs = runs

    async def get(self, run_id: str) -> Run:
        if run_id not in self._runs:
            raise RunNotFoundError(run_id)
        return self._runs[run_id]

    async def metadata(self, run_id: str) -> dict[str, Any]:
        run = await self.get(run_id)
        return metadata(Discovery(), session=run.session, root="/project")

    async def list(self, limit: int = 50) -> Sequence[Run]:
        return list(self._runs.values())[::-1][:limit]


class MemoryFiles:
    """Implements `Files` over a `Tree`; events that its bus carries are kept in `events`."""

    def __init__(
        self, tree: Tree, actor: Actor, bus: EventBus, settings: Settings, *, require_version: bool = False
    ) -> None:
        self.tree = tree
        self.actor = actor
        self.bus = bus
        self.settings = settings
        self.require_version = require_version
        self.events: list[Event] = []

    @classmethod
    def of(cls, texts: Mapping[str, str] | None = None, **settings: Any) -> MemoryFiles:
        """Return a workspace of these files; call it on the loop."""
        tree = Tree(texts=dict(texts or {}))
        tree.folders = {parent for path in tree.texts for parent in _parents(path)}
        made = cls(tree, Actor(kind="agent", id="alice", session="s1"), EventBus(), Settings(**settings))
        made.bus.subscribe("*", made.events.append)
        return made

    def names(self) -> list[str]:
        """Return the names of the events so far."""
        return [event.name for event in self.events]

    def for_actor(
        self,
        actor: Actor,
        *,
        require_version: bool | None = None,
        on_conflict: OnConflict | None = None,
        ephemeral: bool = False,
    ) -> MemoryFiles:
        require = self.require_version if require_version is None else require_version
        return MemoryFiles(self.tree, actor, self.bus, self.settings, require_version=require)

    def descriptors(self, *, owner: str | None = None, is_opaque: bool = False) -> MemoryDescriptors:
        return MemoryDescriptors(self.tree.descriptors)

    @property
    def projects(self) -> MemoryProjects:
        return MemoryProjects(self.tree.registry, self.bus)

    @property
    def runs(self) -> MemoryRuns:
        return MemoryRuns(self.tree.runs)

    @property
    def root_paths(self) -> tuple[str, ...]:
        return ("/project",)

    @property
    def buffers(self) -> MemoryDocuments:
        return MemoryDocuments(self)

    async def recall(self) -> None:
        pass

    async def instructions_in(self, folders: Sequence[str]) -> Sequence[str]:
        return [f"{folder}/AGENTS.md" for folder in folders if f"{folder}/AGENTS.md" in self.tree.texts]

    def changed_since_read(self) -> tuple[ChangedFile, ...]:
        told, self.tree.changed = tuple(self.tree.changed), []
        return told

    async def read_file(
        self, path: str, *, offset: int | None = None, limit: int | None = None, column: int | None = None,
        version: str | None = None,
    ) -> ReadResult:  # fmt: skip
        await self._enter("read_file")
        text = self._text(path)
        lines = text.splitlines(keepends=True)
        first = (offset or 1) - 1
        part = lines[first : first + limit] if limit else lines[first:]
        if column is not None and part:
            part = [part[0][column - 1 :], *part[1:]]
        return ReadResult(
            path=path,
            content="".join(part),
            encoding="utf-8",
            size=len(text.encode()),
            version=version_of(text),
            modified=MOMENT,
            total_lines=len(lines),
            truncated=first + len(part) < len(lines),
        )

    async def stream_file(self, path: str) -> AsyncIterator[bytes]:
        await self._enter("stream_file")
        yield self._text(path).encode()

    async def real_path(self, path: str) -> str:
        return path

    async def write_file(
        self,
        path: str,
        content: str | bytes,
        *,
        expected_version: str | None = None,
        on_stale: Literal["merge", "refuse"] | None = None,
        require_read: bool = False,
    ) -> WriteResult:
        await self._enter("write_file")
        return self._replace(path, _text(content), expected_version, require_read=require_read)

    async def create_file(self, path: str, content: str | bytes) -> WriteResult:
        await self._enter("create_file")
        if path in self.tree.texts or path in self.tree.folders:
            raise PathExistsError(path)
        return self._write(path, _text(content), None)

    async def append_file(self, path: str, content: str | bytes, *, expected_version: str | None = None) -> WriteResult:
        await self._enter("append_file")
        return self._write(path, self.tree.texts.get(path, "") + _text(content), None)

    async def edit_file(
        self, path: str, edits: Sequence[Edit], *, dry_run: bool = False, context_lines: int = 3
    ) -> EditResult:
        await self._enter("edit_file")
        before = self._text(path)
        made = apply_edits(before, edits, path=path)
        return self._edited(path, before, made.text, counts=list(made.counts), dry_run=dry_run)

    async def insert_lines(self, path: str, line: int, text: str, *, dry_run: bool = False) -> EditResult:
        await self._enter("insert_lines")
        before = self._text(path)
        return self._edited(path, before, insert_lines(before, line, text).text, counts=[], dry_run=dry_run)

    async def change_text(
        self,
        path: str,
        compute: Callable[[str, str | None], Sequence[TextEdit]],
        *,
        arguments: Mapping[str, Any],
        require_read: bool = False,
        dry_run: bool = False,
    ) -> EditResult:
        await self._enter("change_text")
        before = self._text(path)
        return self._edited(path, before, apply_text_edits(before, compute(before, None)), counts=[], dry_run=dry_run)

    async def apply_patch(self, patch: str, *, dry_run: bool = False) -> PatchResult:
        await self._enter("apply_patch")
        files = [PatchedFile(path=each.path, kind=each.kind) for each in parse_patch(patch)]
        return PatchResult(files=files, dry_run=dry_run)

    def _edited(self, path: str, before: str, after: str, *, counts: list[int], dry_run: bool) -> EditResult:
        if not dry_run:
            self._write(path, after, None)
        return EditResult(
            path=path,
            version=version_of(after),
            replaced_version=version_of(before),
            counts=counts,
            structured_patch=[hunk.to_dict() for hunk in structured_patch(before, after)],
            dry_run=dry_run,
        )

    async def delete_file(self, path: str) -> DeleteResult:
        await self._enter("delete_file")
        text = self._text(path)
        del self.tree.texts[path]
        return DeleteResult(path=path, deleted_version=version_of(text))

    async def create_directory(self, path: str) -> DirectoryResult:
        await self._enter("create_directory")
        if path in self.tree.texts:
            raise PathExistsError(path)
        created = path not in self.tree.folders
        self.tree.folders.update((path, *_parents(path)))
        return DirectoryResult(path=path, created=created)

    async def delete_directory(
        self,
        path: str,
        *,
        recursive: bool = False,
        abort: Callable[[], bool] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> DeleteResult:
        await self._enter("delete_directory")
        if path not in self.tree.folders:
            raise DirectoryNotFoundError(path)
        below = [each for each in (*self.tree.texts, *self.tree.folders) if each.startswith(f"{path}/")]
        if below and not recursive:
            raise DirectoryNotEmptyError(path)
        for each in (path, *below):
            self.tree.texts.pop(each, None)
            self.tree.folders.discard(each)
        return DeleteResult(path=path, entries=1 + len(below))

    async def move_file(self, source: str, destination: str, *, overwrite: bool = False) -> MoveResult:
        await self._enter("move_file")
        text = self._text(source)
        if destination in self.tree.texts and not overwrite:
            raise PathExistsError(destination)
        del self.tree.texts[source]
        self._write(destination, text, None)
        return MoveResult(source=source, destination=destination, version=version_of(text))

    async def copy_file(self, source: str, destination: str, *, overwrite: bool = False) -> WriteResult:
        await self._enter("copy_file")
        if destination in self.tree.texts and not overwrite:
            raise PathExistsError(destination)
        return self._write(destination, self._text(source), None)

    async def file_info(self, path: str, *, times: bool = False) -> InfoResult:
        await self._enter("file_info")
        if path in self.tree.folders:
            return InfoResult(path=path, name=path, type="directory", modified=MOMENT, mode="755")
        text = self._text(path)
        return InfoResult(
            path=path, name=path, type="file", size=len(text), modified=MOMENT, mode="644", version=version_of(text)
        )

    async def exists(self, path: str) -> bool:
        await self._enter("exists")
        return path in self.tree.texts or path in self.tree.folders

    async def diff(self, path: str, old_version: str | None = None, new_version: str | None = None) -> DiffResult:
        await self._enter("diff")
        now = version_of(self._text(path))  # no other version is kept
        return DiffResult(path=path, old_version=now, new_version=now, diff="")

    async def list_files(
        self,
        path: str = "",
        *,
        recursive: bool = False,
        limit: int = 1000,
        cursor: str | None = None,
        max_depth: int = 64,
        details: bool = True,
        all: bool = False,  # noqa: A002 - as the protocol has it
        abort: Callable[[], bool] | None = None,
    ) -> ListResult:
        await self._enter("list_files")
        if path and path not in self.tree.folders:
            raise DirectoryNotFoundError(path)
        beginning = f"{path}/" if path else ""
        rows = [
            Entry(name=each.rpartition("/")[2], path=each, type="directory" if each in self.tree.folders else "file")
            for each in sorted((*self.tree.folders, *self.tree.texts))
            if each.startswith(beginning) and (recursive or "/" not in each[len(beginning) :])
        ]
        later = [row for row in rows if cursor is None or row.path > cursor]
        page = later[:limit]
        following = page[-1].path if len(later) > limit else None
        return ListResult(path=path, entries=page, truncated=following is not None, next_cursor=following)

    async def undo(
        self,
        *,
        call: str | None = None,
        since: int | None = None,
        path: str | None = None,
        actor: Actor | None = None,
        dry_run: bool = False,
    ) -> UndoResult:
        """Keep what was asked for; nothing is remembered here that could be taken back."""
        await self._enter("undo")
        self.tree.undone.append({"call": call, "since": since, "path": path, "actor": actor, "dry_run": dry_run})
        return UndoResult(dry_run=dry_run)

    async def search_files(
        self,
        pattern: str,
        *,
        path: str = "",
        all: bool = False,  # noqa: A002 - the word of the tool
        limit: int = 100,
        cursor: str | None = None,
        abort: Callable[[], bool] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> SearchResult:
        await self._enter("search_files")
        page = await self.list_files(path, recursive=True)
        fits = Glob(pattern).matches if is_glob(pattern) else lambda each: pattern.casefold() in each.casefold()
        rows = [row for row in page.entries if fits(row.path) and (cursor is None or row.path > cursor)]
        following = rows[limit - 1].path if len(rows) > limit else None
        return SearchResult(
            path=path,
            entries=rows[:limit],
            total=len(rows[:limit]),
            total_is_complete=following is None,
            truncated=following is not None,
            next_cursor=following,
        )

    async def grep_files(
        self,
        pattern: str,
        *,
        path: str = "",
        glob: str | None = None,
        output_mode: Literal["content", "files", "count"] = "content",
        ignore_case: bool = False,
        literal: bool = False,
        multiline: bool = False,
        context: int = 0,
        only_matching: bool = False,
        all: bool = False,  # noqa: A002 - the word of the tool
        limit: int = 100,
        cursor: str | None = None,
        abort: Callable[[], bool] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> GrepResult:
        await self._enter("grep_files")
        expression = re.compile(re.escape(pattern) if literal else pattern, re.IGNORECASE if ignore_case else 0)
        rows = [
            (each, number, line, found.start())
            for each in sorted(self.tree.texts)
            if each.startswith(path) and (glob is None or Glob(glob).matches(each))
            for number, line in enumerate(self.tree.texts[each].splitlines(), 1)
            if (found := expression.search(line))
        ]
        paths = list(dict.fromkeys(row[0] for row in rows))
        counts = [GrepFile(path=each, count=sum(row[0] == each for row in rows)) for each in paths]
        matches = [
            GrepMatch(path=each, line=number, column=at + 1, text=line) for each, number, line, at in rows[:limit]
        ]
        is_content = output_mode == "content"
        return GrepResult(
            path=path,
            output_mode=output_mode,
            matches=matches if is_content else [],
            files=[] if is_content else counts[:limit],
            total=len(matches if is_content else counts[:limit]),
            total_is_complete=len(rows) <= limit,
            truncated=len(rows) > limit,
        )

    async def watch_changes(
        self, since: str | None = None, *, path: str = "", wait_seconds: float = 0, limit: int = 100
    ) -> WatchResult:
        await self._enter("watch_changes")
        first = len(self.tree.changes) if since is None else int(since)
        found = [change for change in self.tree.changes[first:] if change.path.startswith(path)][:limit]
        return WatchResult(path=path, changes=found, position=str(len(self.tree.changes)))

    async def read_multiple(
        self,
        paths: Sequence[str],
        *,
        abort: Callable[[], bool] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> ReadBatchResult:
        items = []
        for done, path in enumerate(paths):
            if progress:
                progress(100 * done // len(paths))
            try:
                items.append(ReadItem(path=path, result=await self.read_file(path)))
            except FileToolsError as exc:
                items.append(ReadItem(path=path, error={"error": exc.message, "error_code": exc.code}))
        if progress:
            progress(100)
        return ReadBatchResult(items=items, failed=sum(item.error is not None for item in items))

    async def write_multiple(
        self,
        items: Sequence[Mapping[str, Any]],
        *,
        abort: Callable[[], bool] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> BatchResult:
        await self._enter("write_multiple")
        return self._together(
            lambda: [
                self._replace(
                    item["path"],
                    item["content"],
                    item.get("expected_version"),
                    require_read=item.get("require_read", False),
                )
                for item in items
            ]
        )

    async def delete_multiple(
        self,
        paths: Sequence[str],
        *,
        abort: Callable[[], bool] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> BatchResult:
        await self._enter("delete_multiple")

        def delete() -> list[DeleteResult]:
            versions = [(path, version_of(self._text(path))) for path in paths]
            for path in paths:
                del self.tree.texts[path]
            return [DeleteResult(path=path, deleted_version=version) for path, version in versions]

        return self._together(delete)

    def _together(self, work: Callable[[], Sequence[WriteResult | DeleteResult]]) -> BatchResult:
        before = dict(self.tree.texts)
        try:
            return BatchResult(results=list(work()))
        except FileToolsError as exc:
            self.tree.texts = before
            raise BatchFailedError(exc) from exc

    async def _enter(self, method: str) -> None:
        self.tree.calls.append((method, self.actor))
        if self.tree.hang is not None:
            await self.tree.hang.wait()
        if self.tree.failures:
            raise self.tree.failures.pop(0)

    def _text(self, path: str) -> str:
        if path in self.tree.folders:
            raise PathIsDirectoryError(path)
        if path not in self.tree.texts:
            raise PathNotFoundError(path)
        return self.tree.texts[path]

    def _replace(self, path: str, content: str, expected: str | None, *, require_read: bool = False) -> WriteResult:
        old = self.tree.texts.get(path)
        if old is not None and old != content and expected is None and (self.require_version or require_read):
            reason = "replacing it needs expected_version, so that nobody's newer text is lost"
            raise VersionMismatchError(path, None, version_of(old), reason=reason)
        return self._write(path, content, expected)

    def _write(self, path: str, content: str, expected: str | None) -> WriteResult:
        if path in self.tree.folders:
            raise PathIsDirectoryError(path)
        old = self.tree.texts.get(path)
        current = None if old is None else version_of(old)
        digits = (expected or "").removeprefix("sha256:")
        if expected is not None and not (current or "").startswith(f"sha256:{digits}"):
            raise VersionMismatchError(path, expected, current)
        self.tree.texts[path] = content
        self.tree.folders.update(_parents(path))
        return WriteResult(
            path=path,
            bytes_written=len(content.encode()),
            created=old is None,
            version=version_of(content),
            replaced_version=current,
        )


def _parents(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: depth + 1]) for depth in range(len(parts))]
