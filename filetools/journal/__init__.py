"""The journal: write-ahead log, feed, history, provenance and the mirrors' debt in one ordered record."""

from filetools.journal.changes import DIRECTORY_REMOVALS, Change, Debt, Head, HeadMovedError, View
from filetools.journal.journal import Contents, Debts, Journal, Marks
from filetools.journal.sqlite import SqliteJournal

__all__ = [
    "DIRECTORY_REMOVALS",
    "Change",
    "Contents",
    "Debt",
    "Debts",
    "Head",
    "HeadMovedError",
    "Journal",
    "Marks",
    "SqliteJournal",
    "View",
]
