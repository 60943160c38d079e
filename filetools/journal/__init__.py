"""The journal: write-ahead log, feed, history, provenance and the mirrors' debt in one ordered record."""

from filetools.journal.changes import DIRECTORY_REMOVALS, Change, Debt, Head, HeadMovedError, Relation, View
from filetools.journal.checkpoints import Checkpoint
from filetools.journal.document_rows import Document, DocumentChange, DocumentClosing, EditReason
from filetools.journal.documents import DocumentEdit, Handle, NewDocument
from filetools.journal.examination import JournalReport, examine_journal
from filetools.journal.history import FolderRemoval, Selection
from filetools.journal.journal import Checkpoints, Contents, Debts, Documents, History, Journal, Marks, Stamps
from filetools.journal.rescue import Rescue, rescue_journal
from filetools.journal.sqlite import SqliteJournal
from filetools.journal.stamps import Stamp

__all__ = [
    "DIRECTORY_REMOVALS",
    "Change",
    "Checkpoint",
    "Checkpoints",
    "Contents",
    "Debt",
    "Debts",
    "Document",
    "DocumentChange",
    "DocumentClosing",
    "DocumentEdit",
    "Documents",
    "EditReason",
    "FolderRemoval",
    "Handle",
    "Head",
    "HeadMovedError",
    "History",
    "Journal",
    "JournalReport",
    "Marks",
    "NewDocument",
    "Relation",
    "Rescue",
    "Selection",
    "SqliteJournal",
    "Stamp",
    "Stamps",
    "View",
    "examine_journal",
    "rescue_journal",
]
