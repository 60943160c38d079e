"""The facade: what agents, editors and servers call. `way.py` is the one way by which anything changes."""

from typing import TYPE_CHECKING

from filetools.deferred import deferred

if TYPE_CHECKING:
    from filetools.facade.aside import keep_aside
    from filetools.facade.buffers import Buffers
    from filetools.facade.clerk import Clerk
    from filetools.facade.descriptor_calls import DescriptorCalls
    from filetools.facade.facade import FileToolsFacade, ToolCaller
    from filetools.facade.feed import Feed, FeedPage
    from filetools.facade.known_names import KnownNames
    from filetools.facade.opened_file import OpenedFile
    from filetools.facade.parts import Parts
    from filetools.facade.project_calls import ProjectCalls
    from filetools.facade.run_calls import RunCalls
    from filetools.facade.runner import Runner
    from filetools.facade.transactions import Transaction, TransactionResult
    from filetools.facade.uploads import Upload
    from filetools.facade.watching import change_entry
    from filetools.facade.worker_pool import WorkerPool
else:
    __getattr__, __dir__ = deferred(
        __name__,
        {
            "filetools.facade.aside": "keep_aside",
            "filetools.facade.buffers": "Buffers",
            "filetools.facade.clerk": "Clerk",
            "filetools.facade.descriptor_calls": "DescriptorCalls",
            "filetools.facade.facade": "FileToolsFacade, ToolCaller",
            "filetools.facade.feed": "Feed, FeedPage",
            "filetools.facade.known_names": "KnownNames",
            "filetools.facade.opened_file": "OpenedFile",
            "filetools.facade.parts": "Parts",
            "filetools.facade.project_calls": "ProjectCalls",
            "filetools.facade.run_calls": "RunCalls",
            "filetools.facade.runner": "Runner",
            "filetools.facade.transactions": "Transaction, TransactionResult",
            "filetools.facade.uploads": "Upload",
            "filetools.facade.watching": "change_entry",
            "filetools.facade.worker_pool": "WorkerPool",
        },
    )

__all__ = [
    "Buffers",
    "Clerk",
    "DescriptorCalls",
    "Feed",
    "FeedPage",
    "FileToolsFacade",
    "KnownNames",
    "OpenedFile",
    "Parts",
    "ProjectCalls",
    "RunCalls",
    "Runner",
    "ToolCaller",
    "Transaction",
    "TransactionResult",
    "Upload",
    "WorkerPool",
    "change_entry",
    "keep_aside",
]
