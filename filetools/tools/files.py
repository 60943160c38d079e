"""What tools need of the facade, as a protocol: handlers know the methods, not the class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from filetools.content import Edit
from filetools.events import EventBus
from filetools.models import (
    Actor,
    BatchResult,
    DeleteResult,
    DirectoryResult,
    EditResult,
    InfoResult,
    ListResult,
    MoveResult,
    PatchResult,
    ReadBatchResult,
    ReadResult,
    WriteResult,
)
from filetools.settings import Settings

IsAborted = Callable[[], bool]
Percent = Callable[[int], None]


class Files(Protocol):
    """File tools of one actor on one opened workspace; `FileToolsFacade` says what each method promises and raises."""

    @property
    def actor(self) -> Actor:
        """Whom the calls belong to."""

    @property
    def bus(self) -> EventBus:
        """The event bus of the workspace."""

    @property
    def settings(self) -> Settings:
        """The settings in force."""

    def for_actor(self, actor: Actor) -> Files:
        """Return the same workspace for another actor."""

    async def read_file(
        self, path: str, *, offset: int | None = None, limit: int | None = None, version: str | None = None
    ) -> ReadResult:
        """Read a file or some of its lines, as it is now or as a kept version."""

    async def write_file(self, path: str, content: str, *, expected_version: str | None = None) -> WriteResult:
        """Create or replace a file."""

    async def create_file(self, path: str, content: str) -> WriteResult:
        """Create a file that must not exist."""

    async def append_file(self, path: str, content: str) -> WriteResult:
        """Add to the end of a file."""

    async def edit_file(self, path: str, edits: Sequence[Edit], *, dry_run: bool = False) -> EditResult:
        """Replace exact texts in a file."""

    async def insert_lines(self, path: str, line: int, text: str, *, dry_run: bool = False) -> EditResult:
        """Insert text after a line."""

    async def apply_patch(self, patch: str, *, dry_run: bool = False) -> PatchResult:
        """Apply a patch over several files, all or nothing."""

    async def delete_file(self, path: str) -> DeleteResult:
        """Delete a file."""

    async def create_directory(self, path: str) -> DirectoryResult:
        """Create a folder and its parents."""

    async def delete_directory(self, path: str, *, recursive: bool = False) -> DeleteResult:
        """Delete a folder."""

    async def move_file(self, source: str, destination: str, *, overwrite: bool = False) -> MoveResult:
        """Move a file or folder."""

    async def copy_file(self, source: str, destination: str, *, overwrite: bool = False) -> WriteResult:
        """Copy a file."""

    async def file_info(self, path: str) -> InfoResult:
        """Return what is known of a path."""

    async def exists(self, path: str) -> bool:
        """Whether anything stands at a path."""

    async def list_files(
        self,
        path: str = "",
        *,
        recursive: bool = False,
        limit: int = 1000,
        cursor: str | None = None,
        max_depth: int = 64,
        abort: IsAborted | None = None,
    ) -> ListResult:
        """Return one page of a folder or tree."""

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
