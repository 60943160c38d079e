"""The facade: what agents, editors and servers call. `way.py` is the one way by which anything changes."""

from filetools.facade.aside import keep_aside
from filetools.facade.buffers import Buffers
from filetools.facade.clerk import Clerk
from filetools.facade.facade import FileToolsFacade, ToolCaller
from filetools.facade.feed import Feed, FeedPage
from filetools.facade.known_names import KnownNames
from filetools.facade.opened_file import OpenedFile
from filetools.facade.parts import Crew, Parts
from filetools.facade.runner import Runner
from filetools.facade.transactions import Transaction, TransactionResult
from filetools.facade.uploads import Upload
from filetools.facade.watching import change_entry

__all__ = [
    "Buffers",
    "Clerk",
    "Crew",
    "Feed",
    "FeedPage",
    "FileToolsFacade",
    "KnownNames",
    "OpenedFile",
    "Parts",
    "Runner",
    "ToolCaller",
    "Transaction",
    "TransactionResult",
    "Upload",
    "change_entry",
    "keep_aside",
]
