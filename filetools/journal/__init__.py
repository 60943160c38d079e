"""The journal: write-ahead log, feed, history, provenance and the mirrors' debt in one ordered record."""

from filetools.journal.changes import DIRECTORY_REMOVALS, Change, Debt, Head, HeadMovedError, View
from filetools.journal.examination import JournalReport, examine_journal
from filetools.journal.journal import Contents, Debts, Journal, Marks, Stamps
from filetools.journal.rescue import Rescue, rescue_journal
from filetools.journal.sqlite import SqliteJournal
from filetools.journal.stamps import Stamp

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
    "Stamp",
    "Stamps",
    "View",
    "examine_journal",
    "rescue_journal",
]
