"""The journal: write-ahead log, feed, history, provenance and the mirrors' debt in one ordered record."""

from filetools.journal.changes import DIRECTORY_REMOVALS, Change, Debt, Head, HeadMovedError, View
from filetools.journal.examination import JournalReport, examine_journal
from filetools.journal.journal import Contents, Debts, Journal, Marks
from filetools.journal.rescue import Rescue, rescue_journal
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
    "JournalReport",
    "Marks",
    "Rescue",
    "SqliteJournal",
    "View",
    "examine_journal",
    "rescue_journal",
]
