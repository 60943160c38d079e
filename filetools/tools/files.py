"""What tools need of the facade, as a protocol: handlers know the methods, not the class."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from filetools.content.edits import Edit
from filetools.content.text_edits import TextEdit
from filetools.descriptors.descriptors import Descriptors
from filetools.events.bus import EventBus
from filetools.models.buffers import BufferChange, BufferClose, BufferResult, BufferSave
from filetools.models.files import (
    BatchResult,
    DeleteResult,
    DiffResult,
    DirectoryResult,
    EditResult,
    InfoResult,
    MoveResult,
    PatchResult,
    ReadBatchResult,
    ReadResult,
    WriteResult,
)
from filetools.models.history import UndoResult
from filetools.models.listing import ListResult
from filetools.models.records import Actor, ChangedFile
from filetools.models.searching import GrepResult, SearchResult, WatchResult
from filetools.models.words import OnConflict
from filetools.settings import DescriptorSettings, Settings

if TYPE_CHECKING:
    from filetools.project.folder import ProjectFolder
    from filetools.project.registry import Registry
    from filetools.sessions.runs import Run

T = TypeVar("T")
IsAborted = Callable[[], bool]
Percent = Callable[[int], None]
Looked = Callable[[int], None]


class OpenDocuments(Protocol):
    """Documents that an editor has open; `Buffers` of the facade says what each method promises and raises."""

    async def open(self, path: str) -> BufferResult:
        """Open the document of a path, or join those who have it open."""

    async def read(self, handle: str) -> BufferResult:
        """Return the newest text of a document."""

    async def change(
        self, handle: str, *, buffer_version: int, edits: Sequence[TextEdit] | None = None, text: str | None = None
    ) -> BufferChange:
        """Put an editor's edits into the document."""

    async def save(self, handle: str, *, buffer_version: int | None = None) -> BufferSave:
        """Write the document to its file."""

    async def close(self, handle: str) -> BufferClose:
        """Give up a handle."""


class DescriptorTable(Protocol):
    """The descriptors of one owner; `DescriptorCalls` of the facade says what it promises and raises."""

    @property
    def settings(self) -> DescriptorSettings:
        """Their settings."""

    async def run(self, work: Callable[[Descriptors], T]) -> T:
        """Return what `work` makes of the descriptors, in a worker thread."""


class ProjectTable(Protocol):
    """Facts about projects and other folders; `ProjectCalls` of the facade says what it promises and raises."""

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
        """Return what `work` makes of a folder, in a worker thread."""

    async def run(self, work: Callable[[Registry], T]) -> T:
        """Return what `work` makes of the registry, in a worker thread."""


class RunTable(Protocol):
    """Runs of agents; `RunCalls` of the facade says what it promises and raises."""

    async def get(self, run_id: str) -> Run:
        """Return a run."""

    async def metadata(self, run_id: str) -> dict[str, Any]:
        """Return what a run has made."""

    async def list(self, limit: int = 50) -> Sequence[Run]:
        """Return the newest runs, newest first."""


class Files(Protocol):
    """File tools of one actor on one opened workspace; `FileToolsFacade` says what each method promises and raises."""

    @property
    def actor(self) -> Actor:
        """Whom the calls belong to."""

    @property
    def bus(self) -> EventBus:
        """The event bus of the workspace."""

    @property
    def root_paths(self) -> tuple[str, ...]:
        """The absolute paths of the root: as given, and with its links resolved, if that is another."""

    @property
    def settings(self) -> Settings:
        """The settings in force."""

    @property
    def buffers(self) -> OpenDocuments:
        """The documents that this actor has open."""

    def descriptors(self, *, owner: str | None = None, is_opaque: bool = False) -> DescriptorTable:
        """Return the descriptors of this actor, or of another owner."""

    @property
    def projects(self) -> ProjectTable:
        """Facts about projects and other folders."""

    @property
    def runs(self) -> RunTable:
        """Runs of agents on this workspace."""

    def for_actor(
        self,
        actor: Actor,
        *,
        require_version: bool | None = None,
        on_conflict: OnConflict | None = None,
        ephemeral: bool = False,
    ) -> Files:
        """Return the same workspace for another actor, with or without the need to name the versions that it replaces."""

    async def recall(self) -> None:
        """Load what this actor knew in earlier openings."""

    def changed_since_read(self) -> tuple[ChangedFile, ...]:
        """Return the files that this actor knows and others have changed since; each is told once."""

    async def instructions_in(self, folders: Sequence[str]) -> Sequence[str]:
        """Return the instruction files that stand in some folders."""

    async def read_file(
        self,
        path: str,
        *,
        offset: int | None = None,
        limit: int | None = None,
        column: int | None = None,
        version: str | None = None,
    ) -> ReadResult:
        """Read a file or some of its lines, as it is now or as a kept version."""

    def stream_file(self, path: str) -> AsyncIterator[bytes]:
        """Yield a file's bytes, whatever its size."""

    async def real_path(self, path: str) -> str:
        """Return where a path leads in the workspace."""

    async def write_file(
        self,
        path: str,
        content: str | bytes,
        *,
        expected_version: str | None = None,
        on_stale: Literal["merge", "refuse"] | None = None,
        require_read: bool = False,
    ) -> WriteResult:
        """Create or replace a file."""

    async def create_file(self, path: str, content: str | bytes) -> WriteResult:
        """Create a file that must not exist."""

    async def append_file(self, path: str, content: str | bytes, *, expected_version: str | None = None) -> WriteResult:
        """Add to the end of a file."""

    async def edit_file(
        self, path: str, edits: Sequence[Edit], *, dry_run: bool = False, context_lines: int = 3
    ) -> EditResult:
        """Replace exact texts in a file."""

    async def insert_lines(self, path: str, line: int, text: str, *, dry_run: bool = False) -> EditResult:
        """Insert text after a line."""

    async def change_text(
        self,
        path: str,
        compute: Callable[[str, str | None], Sequence[TextEdit]],
        *,
        arguments: Mapping[str, Any],
        require_read: bool = False,
        dry_run: bool = False,
    ) -> EditResult:
        """Replace parts of a file's text that a function picks out of what stands there."""

    async def apply_patch(self, patch: str, *, dry_run: bool = False) -> PatchResult:
        """Apply a patch over several files, all or nothing."""

    async def delete_file(self, path: str) -> DeleteResult:
        """Delete a file."""

    async def create_directory(self, path: str) -> DirectoryResult:
        """Create a folder and its parents."""

    async def delete_directory(
        self, path: str, *, recursive: bool = False, abort: IsAborted | None = None, progress: Percent | None = None
    ) -> DeleteResult:
        """Delete a folder."""

    async def move_file(self, source: str, destination: str, *, overwrite: bool = False) -> MoveResult:
        """Move a file or folder."""

    async def copy_file(self, source: str, destination: str, *, overwrite: bool = False) -> WriteResult:
        """Copy a file."""

    async def file_info(self, path: str, *, times: bool = False) -> InfoResult:
        """Return what is known of a path."""

    async def exists(self, path: str) -> bool:
        """Whether anything stands at a path."""

    async def diff(self, path: str, old_version: str | None = None, new_version: str | None = None) -> DiffResult:
        """Return what changed between two versions of a path."""

    async def list_files(
        self,
        path: str = "",
        *,
        recursive: bool = False,
        limit: int = 1000,
        cursor: str | None = None,
        max_depth: int = 64,
        details: bool = True,
        all: bool = False,  # noqa: A002 - the word of the tools
        abort: IsAborted | None = None,
    ) -> ListResult:
        """Return one page of a folder or tree."""

    async def undo(
        self,
        *,
        call: str | None = None,
        since: int | None = None,
        path: str | None = None,
        actor: Actor | None = None,
        dry_run: bool = False,
    ) -> UndoResult:
        """Take changes back."""

    async def search_files(
        self,
        pattern: str,
        *,
        path: str = "",
        all: bool = False,  # noqa: A002 - the word of the tool
        limit: int = 100,
        cursor: str | None = None,
        abort: IsAborted | None = None,
        progress: Looked | None = None,
    ) -> SearchResult:
        """Return one page of the files and folders whose path fits a pattern."""

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
        abort: IsAborted | None = None,
        progress: Looked | None = None,
    ) -> GrepResult:
        """Return one page of the lines in which a pattern matches."""

    async def watch_changes(
        self, since: str | None = None, *, path: str = "", wait_seconds: float = 0, limit: int = 100
    ) -> WatchResult:
        """Return changes after a position, waiting for the first one."""

    async def read_multiple(
        self, paths: Sequence[str], *, abort: IsAborted | None = None, progress: Percent | None = None
    ) -> ReadBatchResult:
        """Read several files."""

    async def write_multiple(
        self,
        items: Sequence[Mapping[str, Any]],
        *,
        abort: IsAborted | None = None,
        progress: Percent | None = None,
    ) -> BatchResult:
        """Write several files, all or nothing."""

    async def delete_multiple(
        self, paths: Sequence[str], *, abort: IsAborted | None = None, progress: Percent | None = None
    ) -> BatchResult:
        """Delete several files, all or nothing."""
