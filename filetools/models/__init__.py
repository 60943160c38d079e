"""The vocabulary every floor shares: actors, change records, and the results that doors turn into JSON.

Versions are strings, "sha256:" followed by the lower-case hex digest of the file's bytes. Results are frozen pydantic
models because they leave the product as JSON; `ChangeRecord` and `Actor` are dataclasses because they stay inside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from filetools.deferred import deferred

if TYPE_CHECKING:
    from filetools.models.buffers import BufferChange as BufferChange
    from filetools.models.buffers import BufferClose as BufferClose
    from filetools.models.buffers import BufferResult as BufferResult
    from filetools.models.buffers import BufferSave as BufferSave
    from filetools.models.files import BatchResult as BatchResult
    from filetools.models.files import DeleteResult as DeleteResult
    from filetools.models.files import DiffResult as DiffResult
    from filetools.models.files import DirectoryResult as DirectoryResult
    from filetools.models.files import EditResult as EditResult
    from filetools.models.files import InfoResult as InfoResult
    from filetools.models.files import MoveResult as MoveResult
    from filetools.models.files import PatchedFile as PatchedFile
    from filetools.models.files import PatchResult as PatchResult
    from filetools.models.files import ReadBatchResult as ReadBatchResult
    from filetools.models.files import ReadItem as ReadItem
    from filetools.models.files import ReadResult as ReadResult
    from filetools.models.files import SyncResult as SyncResult
    from filetools.models.files import VersionEntry as VersionEntry
    from filetools.models.files import VersionsResult as VersionsResult
    from filetools.models.files import WriteResult as WriteResult
    from filetools.models.history import CheckpointResult as CheckpointResult
    from filetools.models.history import CheckpointsResult as CheckpointsResult
    from filetools.models.history import LineRange as LineRange
    from filetools.models.history import LookResult as LookResult
    from filetools.models.history import ProvenanceResult as ProvenanceResult
    from filetools.models.history import UndoConflict as UndoConflict
    from filetools.models.history import UndoneChange as UndoneChange
    from filetools.models.history import UndoneFile as UndoneFile
    from filetools.models.history import UndoResult as UndoResult
    from filetools.models.listing import Entry as Entry
    from filetools.models.listing import ListResult as ListResult
    from filetools.models.records import EXTERNAL as EXTERNAL
    from filetools.models.records import SYSTEM as SYSTEM
    from filetools.models.records import WITHOUT_BYTES as WITHOUT_BYTES
    from filetools.models.records import Actor as Actor
    from filetools.models.records import ChangedFile as ChangedFile
    from filetools.models.records import ChangeRecord as ChangeRecord
    from filetools.models.records import Operation as Operation
    from filetools.models.records import RecordState as RecordState
    from filetools.models.result import Result as Result
    from filetools.models.result import camel_keys as camel_keys
    from filetools.models.searching import ChangeEntry as ChangeEntry
    from filetools.models.searching import GrepFile as GrepFile
    from filetools.models.searching import GrepMatch as GrepMatch
    from filetools.models.searching import GrepResult as GrepResult
    from filetools.models.searching import SearchResult as SearchResult
    from filetools.models.searching import WatchResult as WatchResult
    from filetools.models.tree_diff import TreeChange as TreeChange
    from filetools.models.tree_diff import TreeDiffResult as TreeDiffResult
    from filetools.models.words import STATE_DIRECTORY as STATE_DIRECTORY
    from filetools.models.words import VERSION_PREFIX as VERSION_PREFIX
    from filetools.models.words import ActorKind as ActorKind
    from filetools.models.words import Durability as Durability
    from filetools.models.words import EntryType as EntryType
    from filetools.models.words import MirrorPolicy as MirrorPolicy
    from filetools.models.words import MirrorStatus as MirrorStatus
    from filetools.models.words import Newline as Newline
    from filetools.models.words import OnConflict as OnConflict
    from filetools.models.words import Preset as Preset
    from filetools.models.words import Row as Row
else:
    __getattr__, __dir__ = deferred(
        __name__,
        {
            "filetools.models.buffers": "BufferChange, BufferClose, BufferResult, BufferSave",
            "filetools.models.files": "BatchResult, DeleteResult, DiffResult, DirectoryResult, "
            "EditResult, InfoResult, MoveResult, PatchedFile, PatchResult, "
            "ReadBatchResult, ReadItem, ReadResult, SyncResult, "
            "VersionEntry, VersionsResult, WriteResult",
            "filetools.models.history": "CheckpointResult, CheckpointsResult, LineRange, LookResult, "
            "ProvenanceResult, UndoConflict, UndoneChange, UndoneFile, "
            "UndoResult",
            "filetools.models.listing": "Entry, ListResult",
            "filetools.models.records": "EXTERNAL, SYSTEM, WITHOUT_BYTES, Actor, ChangedFile, "
            "ChangeRecord, Operation, RecordState",
            "filetools.models.result": "Result, camel_keys",
            "filetools.models.searching": "ChangeEntry, GrepFile, GrepMatch, GrepResult, SearchResult, WatchResult",
            "filetools.models.tree_diff": "TreeChange, TreeDiffResult",
            "filetools.models.words": "STATE_DIRECTORY, VERSION_PREFIX, ActorKind, Durability, EntryType, "
            "MirrorPolicy, MirrorStatus, Newline, OnConflict, Preset, Row",
        },
    )
