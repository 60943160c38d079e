from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from filetools.errors import (
    FileBusyError,
    FileToolsError,
    LockTimeoutError,
    NetworkError,
    OutcomeUnknownError,
    PathNotFoundError,
)
from filetools.events.activity import RetryAttempted, RetryExhausted, RetryFailed, RetryQueued, RetrySucceeded
from filetools.events.types import Event
from filetools.tools.retrying import RetryPolicy, retry
from tests.support.probe_tools import Pauses


def failing(*errors: BaseException) -> Callable[[], Awaitable[str]]:
    left = list(errors)

    async def work() -> str:
        if left:
            raise left.pop(0)
        return "done"

    return work


async def test_what_cannot_pass_is_not_tried_again() -> None:
    events: list[Event] = []
    pauses = Pauses()
    with pytest.raises(PathNotFoundError):
        await retry(failing(PathNotFoundError("a")), policy=pauses.policy(), publish=events.append)
    assert (events, pauses.seconds) == ([], [])


async def test_a_foreign_error_is_not_tried_again() -> None:
    with pytest.raises(ValueError, match="foreign"):
        await retry(failing(ValueError("foreign"), NetworkError("x")), policy=Pauses().policy())


async def test_an_error_that_changes_its_kind_ends_it() -> None:
    events: list[Event] = []
    with pytest.raises(PathNotFoundError):
        await retry(failing(NetworkError("x"), PathNotFoundError("a")), policy=Pauses().policy(), publish=events.append)
    assert events[-1] == RetryFailed(what="call", error="File not found: a")


async def test_it_gives_up_after_the_last_repetition_with_the_last_error() -> None:
    errors = [FileBusyError(str(number)) for number in range(5)]
    events: list[Event] = []
    pauses = Pauses()
    with pytest.raises(FileBusyError) as caught:
        await retry(failing(*errors), what="save", policy=pauses.policy(), publish=events.append)
    assert caught.value is errors[3]
    assert pauses.seconds == [1.15, 2.15, 4.15]
    assert events[-1] == RetryExhausted(what="save", attempts=4, error=errors[3].message)


@pytest.mark.parametrize("error", [LockTimeoutError("a", 1), NetworkError("x"), OutcomeUnknownError("x")])
async def test_every_retryable_error_is_tried_again(error: FileToolsError) -> None:
    events: list[Event] = []
    assert await retry(failing(error), what="save", policy=Pauses().policy(0), publish=events.append) == "done"
    assert events == [
        RetryQueued(what="save", delay_seconds=1.0),
        RetryAttempted(what="save", attempt=1, max_attempts=3),
        RetrySucceeded(what="save", attempt=1),
    ]


def test_pauses_double_up_to_their_cap_and_chance_adds_little() -> None:
    policy = RetryPolicy(retries=100, chance=lambda: 0.0)
    assert [policy.pause_seconds(number) for number in (1, 2, 3, 5, 6, 7, 5000)] == [1, 2, 4, 16, 30, 30, 30]
    assert RetryPolicy(chance=lambda: 0.999).pause_seconds(1) < 1.3
    assert all(1 <= RetryPolicy().pause_seconds(1) <= 1.3 for _ in range(100))
