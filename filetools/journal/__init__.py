"""The journal: write-ahead log, feed, history, provenance and the mirrors' backlog in one ordered record."""

from typing import TYPE_CHECKING

from filetools.deferred import deferred

if TYPE_CHECKING:
    from filetools.journal.blobs import sync_directory
    from filetools.journal.changes import (
        DIRECTORY_REMOVALS,
        BacklogEntry,
        Change,
        Head,
        HeadFacts,
        HeadMovedError,
        MirrorRow,
        Relation,
        RelationKind,
        View,
    )
    from filetools.journal.checkpoints import Checkpoint, Checkpoints, SnapshotRow
    from filetools.journal.document_rows import Document, DocumentChange, DocumentClosing, EditReason
    from filetools.journal.documents import ChangedDocuments, DocumentEdit, Documents, Handle, NewDocument
    from filetools.journal.examination import JournalReport, examine_journal
    from filetools.journal.history import NameChange, Selection
    from filetools.journal.journal import (
        Backlog,
        Contents,
        History,
        Journal,
        Marks,
        Mirrors,
    )
    from filetools.journal.plain_rows import PlainRows, Values
    from filetools.journal.rescue import Rescue, rescue_journal
    from filetools.journal.seen_versions import MOST_SEEN, MOST_SEEN_OF_PATH, SeenVersion, SeenVersions
    from filetools.journal.sqlite import SqliteJournal
    from filetools.journal.table import Table, TableRow
    from filetools.journal.tree_index import IndexRow, Looked, TreeIndex
else:
    __getattr__, __dir__ = deferred(
        __name__,
        {
            "filetools.journal.blobs": "sync_directory",
            "filetools.journal.changes": "DIRECTORY_REMOVALS, BacklogEntry, Change, Head, HeadFacts, "
            "HeadMovedError, MirrorRow, Relation, RelationKind, View",
            "filetools.journal.checkpoints": "Checkpoint, Checkpoints, SnapshotRow",
            "filetools.journal.document_rows": "Document, DocumentChange, DocumentClosing, EditReason",
            "filetools.journal.documents": "ChangedDocuments, DocumentEdit, Documents, Handle, NewDocument",
            "filetools.journal.examination": "JournalReport, examine_journal",
            "filetools.journal.history": "NameChange, Selection",
            "filetools.journal.journal": "Backlog, Contents, History, Journal, Marks, Mirrors",
            "filetools.journal.plain_rows": "PlainRows, Values",
            "filetools.journal.rescue": "Rescue, rescue_journal",
            "filetools.journal.seen_versions": "MOST_SEEN, MOST_SEEN_OF_PATH, SeenVersion, SeenVersions",
            "filetools.journal.sqlite": "SqliteJournal",
            "filetools.journal.table": "Table, TableRow",
            "filetools.journal.tree_index": "IndexRow, Looked, TreeIndex",
        },
    )

__all__ = [
    "DIRECTORY_REMOVALS",
    "MOST_SEEN",
    "MOST_SEEN_OF_PATH",
    "Backlog",
    "BacklogEntry",
    "Change",
    "ChangedDocuments",
    "Checkpoint",
    "Checkpoints",
    "Contents",
    "Document",
    "DocumentChange",
    "DocumentClosing",
    "DocumentEdit",
    "Documents",
    "EditReason",
    "Handle",
    "Head",
    "HeadFacts",
    "HeadMovedError",
    "History",
    "IndexRow",
    "Journal",
    "JournalReport",
    "Looked",
    "Marks",
    "MirrorRow",
    "Mirrors",
    "NameChange",
    "NewDocument",
    "PlainRows",
    "Relation",
    "RelationKind",
    "Rescue",
    "SeenVersion",
    "SeenVersions",
    "Selection",
    "SnapshotRow",
    "SqliteJournal",
    "Table",
    "TableRow",
    "TreeIndex",
    "Values",
    "View",
    "examine_journal",
    "rescue_journal",
    "sync_directory",
]
