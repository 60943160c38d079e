"""The facade for programs without an event loop: the same calls, but blocking.

The methods are generated from those of the async classes. `blocking.pyi` declares them for type checkers and editors;
`python -m tests.support.reference` generates that file, and a test compares it.
"""

from __future__ import annotations

import functools
from types import TracebackType
from typing import Any

from filetools.app.fronts import Front, LoopThread, shown
from filetools.app.opening import Opening, open_workspace
from filetools.distribution import require_extra
from filetools.errors import InvalidArgumentError
from filetools.events.bus import EventBus
from filetools.events.subscriptions import Subscription
from filetools.facade.body_calls import OpenedFile, Upload
from filetools.facade.buffers import Buffers
from filetools.facade.descriptor_calls import DescriptorCalls
from filetools.facade.facade import FileToolsFacade
from filetools.facade.project_calls import ProjectCalls
from filetools.facade.run_calls import RunCalls
from filetools.facade.transactions.transaction import Transaction
from filetools.permissions.audience import Attendance


class BlockingFacade(Front, of=FileToolsFacade, fields=("actor",)):
    """File tools of one actor on one open workspace, for use from any thread until the workspace is closed.

    Its methods are those of `FileToolsFacade` and raise the same errors.
    """


class BlockingTransaction(Front, of=Transaction, fields=("actor",)):
    """Calls of one actor that are applied together: `with files.transaction() as tx:`."""


class BlockingBuffers(Front, of=Buffers):
    """The documents that one editor has open; `files.buffers`."""


class BlockingDescriptors(Front, of=DescriptorCalls, fields=("settings",)):
    """Long texts that one actor reads in pages; `files.descriptors()`."""


class BlockingProjects(Front, of=ProjectCalls):
    """Facts about projects and other folders; `files.projects`."""


class BlockingRuns(Front, of=RunCalls):
    """Runs of agents on the workspace; `files.runs`."""


class BlockingFile(Front, of=OpenedFile, fields=("path", "version")):
    """A file that is held open: `with files.open_file(path) as file:`."""


class BlockingUpload(Front, of=Upload, fields=("size",)):
    """Receives bytes that arrive slowly: `with files.upload() as upload:`."""


class BlockingBus(Front, of=EventBus):
    """The event bus of the workspace; `files.bus`."""


class BlockingSubscription(Front, of=Subscription, fields=("pattern",)):
    """A subscription, as returned by `on` and `subscribe`."""


class BlockingAttendance(Front, of=Attendance):
    """Registers somebody as present to answer approvals, until it is closed."""


class BlockingOpening:
    """A workspace to be opened by entering this context manager, once."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._thread: LoopThread | None = None

    def __enter__(self) -> Any:
        if self._thread is not None:
            raise InvalidArgumentError("An opening is entered once; call filetools.open_sync again for another")
        self._thread = LoopThread()
        return shown(self._thread, self._thread.enter(self._opening))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is not None:
            self._thread.leave(kind, error, trace)


@functools.wraps(open_workspace, assigned=())
def open_sync(*arguments: Any, **options: Any) -> BlockingOpening:
    """Open a directory as a workspace for a program without an event loop: `with filetools.open_sync("project") as files:`.

    The workspace runs on an event loop in its own thread; any thread may call it. Listeners and approvers run in other
    threads, where they may block and call the workspace. Otherwise as `filetools.open`. Needs the extra `sync`.

    Raises:
        ModuleNotFoundError: The extra is not installed; the message names the command that installs it.
    """
    require_extra("sync", "filetools.open_sync", "anyio")
    return BlockingOpening(open_workspace(*arguments, **options))
