from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from filetools.errors import AccessDeniedError, ApprovalDeniedError, ApprovalRequiredError, InvalidArgumentError
from filetools.journal.journal import Journal
from filetools.journal.table import Table
from filetools.models.records import Actor
from filetools.paths.workspace_path import WorkspacePath
from filetools.permissions.approvals import Approvals, CallRun
from filetools.permissions.audience import Case
from filetools.permissions.policy import RunTrust
from filetools.permissions.requests import MOST_OF_SESSION, ApprovalAnswer, ApprovalDecision, ApprovalRequest, AskReason
from tests.support.opened import steps_until
from tests.support.people import ALICE, BOB, EDITOR, Notices, Person, proposal, run

PATH = WorkspacePath("a.txt")
SHORT_SECONDS = 0.02
ALLOWED = ApprovalDecision(answer="allow")


class Desk:
    """Approvals with everything that a test inspects."""

    def __init__(self, book: Table, *, run: CallRun = run, **options: Any) -> None:
        self.trust, self.notices = RunTrust(), Notices()
        options = {"wait_seconds": 30.0, **options}
        self.approvals = Approvals(self.trust, book, run, publish=self.notices, **options)


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Table]:
    with closing(Journal(tmp_path, durability="relaxed")) as journal:
        yield journal.approvals


@pytest.fixture
async def desk(book: Table) -> AsyncIterator[Desk]:
    made = Desk(book)
    yield made
    await made.approvals.aclose()


@pytest.fixture
async def passing(book: Table) -> AsyncIterator[Desk]:
    """Approvals whose requests and answers expire soon."""
    made = Desk(book, open_seconds=SHORT_SECONDS)
    yield made
    await made.approvals.aclose()


def case(text: str = "new", *, actor: Actor = ALICE, protected: bool = False, version: str = "sha256:00") -> Case:
    reason: AskReason = "protected" if protected else "prompt"
    shown = proposal(text, version)
    return Case(tool="write_file", path=PATH, paths=(PATH,), actor=actor, reason=reason, proposal=shown)


async def both_wait(desk: Desk) -> None:
    """Wait until two calls wait for one request."""
    await steps_until(lambda: [ticket.waiting for ticket in desk.approvals.tickets.values()] == [2])


async def refused_id(desk: Desk, asked: Case) -> str:
    with pytest.raises(ApprovalRequiredError) as caught:
        await desk.approvals.ask(asked)
    return str(caught.value.details["approval_id"])


async def test_without_an_answer_in_time_the_request_is_denied(passing: Desk) -> None:
    desk = passing
    desk.approvals.audience.attend()
    with pytest.raises(ApprovalDeniedError):
        await desk.approvals.ask(case())
    assert desk.notices.kinds == ["approval_required", "rejected"]
    assert desk.approvals.open_requests() == []


async def test_an_expired_request_can_no_longer_be_answered(passing: Desk) -> None:
    desk = passing
    approval_id = await refused_id(desk, case())
    await desk.notices.until("rejected")
    with pytest.raises(InvalidArgumentError):
        await desk.approvals.answer(approval_id, "allow", by=EDITOR)


async def test_a_late_permission_that_no_call_uses_expires_too(book: Table) -> None:
    passed = 0.0
    desk = Desk(book, open_seconds=600, clock=lambda: time.time() + passed)
    approval_id = await refused_id(desk, case())
    await desk.approvals.answer(approval_id, "allow", by=EDITOR)
    ticket = desk.approvals.tickets.get(approval_id)
    assert ticket is not None
    assert not ticket.is_over
    passed = 601.0
    desk.approvals.renew_soon()
    await steps_until(lambda: ticket.is_over)
    assert await refused_id(desk, case()) != approval_id
    await desk.approvals.aclose()


@pytest.mark.parametrize("kind", ["agent", "external", "system"])
async def test_only_people_answer(desk: Desk, kind: str) -> None:
    approval_id = await refused_id(desk, case())
    with pytest.raises(AccessDeniedError):
        await desk.approvals.answer(approval_id, "allow", by=Actor(kind=kind, id="x"))  # type: ignore[arg-type]
    await refused_id(desk, case())


@pytest.mark.parametrize("answer", ["", "yes", "ALLOW", "allow_for_ever"])
async def test_an_answer_that_is_none_is_refused(desk: Desk, answer: str) -> None:
    approval_id = await refused_id(desk, case())
    with pytest.raises(InvalidArgumentError):
        await desk.approvals.answer(approval_id, answer, by=EDITOR)


async def test_an_unknown_or_answered_request_is_refused(desk: Desk) -> None:
    approval_id = await refused_id(desk, case())
    await desk.approvals.answer(approval_id, "allow", by=EDITOR)
    for unknown in ("approval-0", approval_id):
        with pytest.raises(InvalidArgumentError):
            await desk.approvals.answer(unknown, "deny", by=EDITOR)


@pytest.mark.parametrize(
    "other",
    [
        case("other text"),
        case(version="sha256:11"),
        case(actor=BOB),
        case(actor=Actor(kind="agent", id="alice", session="s2")),
    ],
)
async def test_a_late_permission_holds_for_the_identical_call_only(desk: Desk, other: Case) -> None:
    await desk.approvals.answer(await refused_id(desk, case()), "allow", by=EDITOR)
    await refused_id(desk, other)


async def test_a_late_denial_meets_the_next_identical_call_once(desk: Desk) -> None:
    approval_id = await refused_id(desk, case())
    await desk.approvals.answer(approval_id, "deny", by=EDITOR)
    with pytest.raises(ApprovalDeniedError):
        await desk.approvals.ask(case())
    await refused_id(desk, case())


async def test_repeating_a_refused_call_opens_no_second_request(desk: Desk) -> None:
    assert await refused_id(desk, case()) == await refused_id(desk, case())
    assert desk.notices.kinds == ["approval_required"]


async def test_one_permission_lets_one_of_two_identical_calls_pass(desk: Desk) -> None:
    person = Person()
    desk.approvals.audience.listen(person)
    calls = asyncio.gather(desk.approvals.ask(case()), desk.approvals.ask(case()))
    await both_wait(desk)
    person.say("allow")
    answers = await calls
    assert {answers[0], answers[1]} == {ALLOWED, None}
    assert len(person.asked) == 1


async def test_an_identical_call_that_comes_a_moment_too_late_asks_again(desk: Desk) -> None:
    """In any interleaving of calls: no answer allows two calls, and no call waits for a used answer."""
    allowed: list[ApprovalAnswer] = ["allow"] * 20
    person = Person(*allowed)
    desk.approvals.audience.listen(person)
    for number in range(10):
        answers = await asyncio.gather(desk.approvals.ask(case(str(number))), desk.approvals.ask(case(str(number))))
        assert answers.count(ALLOWED) >= 1
        assert len(person.asked) >= answers.count(ALLOWED)
        person.asked.clear()


async def test_one_denial_denies_all_identical_calls_that_wait(desk: Desk) -> None:
    person = Person()
    desk.approvals.audience.listen(person)
    calls = asyncio.gather(desk.approvals.ask(case()), desk.approvals.ask(case()), return_exceptions=True)
    await both_wait(desk)
    person.say("deny")
    results = await calls
    assert [type(result) for result in results] == [ApprovalDeniedError] * 2


async def test_allow_for_run_is_kept_as_trust_in_the_tool(desk: Desk) -> None:
    desk.approvals.audience.listen(Person("allow_for_run"))
    await desk.approvals.ask(case())
    assert desk.trust.covers(ALICE, "write_file")
    assert not desk.trust.covers(BOB, "write_file")


async def test_allow_for_run_of_a_protected_path_is_trust_in_that_path_alone(desk: Desk) -> None:
    desk.approvals.audience.listen(Person("allow_for_run"))
    await desk.approvals.ask(case(protected=True))
    assert desk.trust.covers(ALICE, "write_file", PATH)
    assert not desk.trust.covers(ALICE, "write_file")


async def test_the_first_of_several_approvers_decides_and_the_others_are_cancelled(desk: Desk) -> None:
    slow, quick = Person(), Person("deny")
    desk.approvals.audience.listen(slow)
    desk.approvals.audience.listen(quick)
    with pytest.raises(ApprovalDeniedError):
        await desk.approvals.ask(case())
    await steps_until(lambda: not desk.approvals.audience._tasks)


async def test_an_approver_that_answers_nonsense_has_not_answered(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    async def confused(request: ApprovalRequest) -> ApprovalAnswer:
        return True  # type: ignore[return-value]

    desk.approvals.audience.listen(confused)
    async with asyncio.timeout(60):
        await refused_id(desk, case())
    assert "not True" in caplog.text


async def test_a_waiting_call_fails_at_once_when_the_last_person_leaves(desk: Desk) -> None:
    page, callback = desk.approvals.audience.attend(), desk.approvals.audience.listen(Person())
    waiting = asyncio.create_task(desk.approvals.ask(case()))
    await steps_until(lambda: bool(desk.approvals.open_requests()))
    callback.close()
    callback.close()
    await asyncio.sleep(0)
    assert not waiting.done()
    page.close()
    async with asyncio.timeout(60):
        with pytest.raises(ApprovalRequiredError):
            await waiting


async def test_a_page_that_only_follows_events_can_answer(desk: Desk) -> None:
    desk.approvals.audience.attend()
    waiting = asyncio.create_task(desk.approvals.ask(case()))
    await desk.notices.until("approval_required")
    await desk.approvals.answer(desk.approvals.open_requests()[0].id, "allow", by=EDITOR)
    assert await waiting == ALLOWED


async def test_an_aborted_call_leaves_its_request_open(desk: Desk) -> None:
    desk.approvals.audience.attend()
    waiting = asyncio.create_task(desk.approvals.ask(case()))
    await desk.notices.until("approval_required")
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await desk.approvals.answer(desk.approvals.open_requests()[0].id, "allow", by=EDITOR)
    assert await desk.approvals.ask(case()) == ALLOWED


async def test_too_many_open_requests_are_refused_without_a_new_one(desk: Desk) -> None:
    alice, bob = (Actor(kind="agent", id=name) for name in ("alice", "bob"))
    for number in range(MOST_OF_SESSION):
        await refused_id(desk, case(str(number), actor=alice))
    with pytest.raises(ApprovalRequiredError, match="too many") as caught:
        await desk.approvals.ask(case("one more", actor=alice))
    assert "approval_id" not in caught.value.details
    await refused_id(desk, case(actor=bob))  # who has no session either
    assert len(desk.approvals.open_requests()) == MOST_OF_SESSION + 1


async def test_closing_ends_waiting_calls_and_may_be_done_twice(desk: Desk) -> None:
    desk.approvals.audience.listen(Person())
    waiting = asyncio.create_task(desk.approvals.ask(case()))
    await steps_until(lambda: bool(desk.approvals.open_requests()))
    await desk.approvals.aclose()
    await desk.approvals.aclose()
    with pytest.raises(ApprovalRequiredError):
        await waiting
