"""The book of approvals: what all processes on a workspace know of requests and answers, as a protocol.

The journal's database keeps it; the two units share a floor and do not know each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")


class BookRow(Protocol):
    """A request as every process sees it."""

    @property
    def id(self) -> str:
        """Name of the request."""

    @property
    def asks(self) -> int:
        """How often a call began to wait for it."""

    @property
    def expires(self) -> float:
        """Seconds since the epoch."""

    @property
    def answer(self) -> str | None:
        """What a person said."""

    @property
    def edited_text(self) -> str | None:
        """What shall be written instead."""

    @property
    def is_used(self) -> bool:
        """Whether a call has used the answer."""


class ApprovalBook(Protocol):
    """The requests of all processes; speaks for one of them. Blocks: call it in a worker thread.

    Times are seconds since the epoch. Any method may raise what a journal raises; then nothing was changed.
    """

    def ask(
        self, new_id: str, call: str, request: str, *, now: float, expires: float, is_heard: bool
    ) -> tuple[BookRow, bool] | None:
        """Return the request of an identical call, or open one, and whether another process listens; None if too many."""

    def answer(self, approval_id: str, answer: str, edited_text: str | None, *, now: float, expires: float) -> bool:
        """Answer an open request; False if it is not open (any more)."""

    def take(self, approval_id: str) -> bool:
        """Use an answer, which one call can do once."""

    def live(self, *, now: float) -> tuple[Sequence[BookRow], bool]:
        """Return the requests that are open or answered, oldest first, and whether another process listens."""

    def request(self, approval_id: str) -> str | None:
        """Return the JSON of a request, or None if it is gone."""

    def has_any(self) -> bool:
        """Whether there is anything to look at; costs next to nothing."""

    def must_ask(self, *, now: float) -> bool:
        """Whether another process wants agents asked in all of them; costs next to nothing."""

    def attend(self, *, now: float, listens: bool, asks_for_all: bool = False) -> None:
        """Say that this process lives, whether somebody in it answers, and whether agents of all processes must ask."""

    def leave(self) -> None:
        """Say that this process ends, and with it the requests that it has open."""


class CallRun(Protocol):
    """Runs blocking work in a worker thread of the project."""

    async def __call__(self, work: Callable[[], T]) -> T:
        """Return what `work` returns."""
