"""Approvals as rows: requests are visible to all, answered once, used once, and end with their lifetime."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pytest

from filetools.errors import StateDamagedError
from filetools.journal.journal import Journal
from filetools.permissions.requests import (
    LEASE_SECONDS,
    MOST_BYTES,
    MOST_OF_SESSION,
    MOST_REQUESTS,
    ApprovalAnswer,
    ApprovalDecision,
    ApprovalRow,
    ApprovalTable,
)
from tests.support.journals import OpenJournal

NOW: Final = 1000.0
LATER: Final = NOW + 600


@pytest.fixture
def mine(journal: Journal) -> ApprovalTable:
    return ApprovalTable(journal.approvals)


@pytest.fixture
def others(journal: Journal, open_journal: OpenJournal) -> ApprovalTable:
    return ApprovalTable(open_journal().approvals)


def ask(
    approvals: ApprovalTable, name: str = "r1", call: str = "c1", session: str = "s", *, now: float = NOW
) -> tuple[ApprovalRow, bool]:
    asked = approvals.ask(name, call, session, {"path": name}, now=now, expires=now + 600)
    assert asked is not None
    return asked


def answer(approvals: ApprovalTable, name: str = "r1", said: ApprovalAnswer = "allow", *, now: float = NOW) -> bool:
    return approvals.answer(name, ApprovalDecision(answer=said), now=now, expires=now + 600) is not None


def names(approvals: ApprovalTable, now: float = NOW) -> list[str]:
    return [row.id for row in approvals.live(now=now)[0]]


def test_what_is_not_open_is_neither_answered_nor_used(mine: ApprovalTable) -> None:
    assert (answer(mine, "unknown"), mine.take("unknown")) == (False, False)
    ask(mine)
    assert (mine.take("r1"), answer(mine), answer(mine, said="deny")) == (False, True, False)


def test_a_request_is_seen_and_answered_by_another_process(mine: ApprovalTable, others: ApprovalTable) -> None:
    ask(mine)
    assert (names(others), others.shown("r1")) == (["r1"], {"path": "r1"})
    others.answer("r1", ApprovalDecision(answer="merge", edited_text="text"), now=NOW, expires=LATER + 1)
    (row,), _ = mine.live(now=LATER)
    assert (row.answer, row.edited_text, row.expires, row.is_used) == ("merge", "text", LATER + 1, False)


def test_of_two_answers_the_first_counts(mine: ApprovalTable, others: ApprovalTable) -> None:
    ask(mine)
    assert [answer(others, said="deny"), answer(mine, said="allow")] == [True, False]
    assert mine.live(now=NOW)[0][0].answer == "deny"


def test_an_answer_is_used_once_by_whatever_process(mine: ApprovalTable, others: ApprovalTable) -> None:
    ask(mine)
    answer(others)
    assert [mine.take("r1"), others.take("r1")] == [True, False]
    (row,), _ = others.live(now=NOW, known=["r1"])
    assert (row.is_used, others.shown("r1")) == (True, None)


def test_answers_that_were_used_are_looked_at_only_by_name(journal: Journal, mine: ApprovalTable) -> None:
    for number in range(20):
        ask(mine, f"u{number}", "c1")
        answer(mine, f"u{number}")
        assert mine.take(f"u{number}")
    assert (mine.has_any(), names(mine), journal.approvals.scan("request ")) == (False, [], [])
    assert [row.is_used for row in mine.live(now=NOW, known=["u3", "other"])[0]] == [True]


def test_identical_calls_share_a_request_until_it_was_used(mine: ApprovalTable, others: ApprovalTable) -> None:
    assert ask(mine)[0].id == ask(others, "r2")[0].id == "r1"
    answer(mine)
    assert ask(others, "r3")[0].answer == "allow"
    mine.take("r1")
    assert ask(others, "r4")[0].id == "r4"


def test_what_has_expired_is_gone(mine: ApprovalTable, others: ApprovalTable) -> None:
    ask(mine)
    assert names(mine, LATER) == []
    assert not answer(mine, now=LATER)
    assert ask(mine, "r2", now=LATER)[0].id == "r2"
    mine.attend(now=LATER + 601, listens=False)
    assert others.shown("r2") is None


def test_the_leader_removes_what_dead_processes_left(journal: Journal, others: ApprovalTable) -> None:
    ask(others)  # long ago, by the wall clock
    journal.retention.collect(retention_bytes=10**9, retention_records=10**9)
    assert [row.key for row in journal.approvals.scan()] == ["opened"]
    assert others.shown("r1") is None


def test_requests_and_answers_outlive_the_process_that_asked(mine: ApprovalTable, others: ApprovalTable) -> None:
    """A server that its client has restarted repeats the call, and so does a command."""
    ask(mine)
    mine.attend(now=NOW, listens=False)
    assert names(others, NOW + LEASE_SECONDS + 1) == ["r1"]
    answer(others)
    assert (ask(others, "r2")[0].id, ask(others, "r2")[0].answer) == ("r1", "allow")


def test_one_request_opens_where_an_expired_one_is_removed_and_opened_again_meanwhile(
    journal: Journal, mine: ApprovalTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(mine)
    put = journal.approvals.put

    def put_late(*rows: Any, **options: Any) -> bool:
        monkeypatch.undo()
        mine.attend(now=LATER + 1, listens=True)
        ask(mine, "r2", now=LATER + 1)
        return put(*rows, **options)

    monkeypatch.setattr(journal.approvals, "put", put_late)
    assert ask(ApprovalTable(journal.approvals), "r3", now=LATER + 1)[0].id == "r2"
    assert names(mine, LATER + 1) == ["r2"]


def test_listeners_of_other_processes_count_while_their_lease_lasts(mine: ApprovalTable, others: ApprovalTable) -> None:
    assert not ask(mine)[1]
    others.attend(now=NOW, listens=True)
    assert ask(mine)[1]
    assert mine.live(now=NOW)[1]
    assert not others.live(now=NOW)[1]
    assert not ask(mine, now=NOW + LEASE_SECONDS + 1)[1]
    others.attend(now=NOW, listens=False)
    assert not mine.live(now=NOW)[1]


def test_a_session_that_has_ended_leaves_room_for_others(mine: ApprovalTable, others: ApprovalTable) -> None:
    for number in range(MOST_OF_SESSION):
        ask(mine, f"r{number}", f"c{number}")
    assert others.ask("more", "another", "s", {}, now=NOW, expires=LATER) is None
    assert ask(others, "more", "another", "s2")[0].id == "more"


def test_too_many_requests_are_refused(mine: ApprovalTable, others: ApprovalTable) -> None:
    for number in range(MOST_REQUESTS):
        ask(mine, f"r{number}", f"c{number}", f"s{number % 5}")
    assert others.ask("more", "another", "s", {}, now=NOW, expires=LATER) is None
    assert ask(others, "same", "c0")[0].id == "r0"
    answer(mine, "r0")
    mine.take("r0")
    ask(others, "more", "another")


def test_too_large_requests_are_refused(mine: ApprovalTable) -> None:
    assert mine.ask("r1", "c1", "s", {"x": "x" * MOST_BYTES}, now=NOW, expires=LATER) is None
    assert names(mine) == []


def test_others_are_woken_by_what_they_wait_for(open_journal: OpenJournal) -> None:
    notified: list[bool] = []
    approvals = ApprovalTable(open_journal(on_visible=lambda: notified.append(True)).approvals)
    for seconds in range(10):
        approvals.attend(now=NOW + seconds, listens=True)  # renewing it is not news
    approvals.attend(now=NOW, listens=False, asks_for_all=True)
    ask(approvals)
    assert answer(approvals)
    assert approvals.take("r1")
    approvals.attend(now=NOW, listens=False)
    approvals.attend(now=NOW, listens=False)  # nothing to take back
    assert len(notified) == 6


def test_what_could_not_be_written_is_news_when_it_is(state: Path, open_journal: OpenJournal) -> None:
    notified: list[bool] = []
    approvals = ApprovalTable(open_journal(on_visible=lambda: notified.append(True)).approvals)
    approvals.live(now=NOW)  # reads go on by a connection that is open
    (state / "journal.db").rename(state / "elsewhere.db")
    with pytest.raises(StateDamagedError):
        approvals.attend(now=NOW, listens=True)
    (state / "elsewhere.db").rename(state / "journal.db")
    approvals.attend(now=NOW, listens=True)
    assert notified == [True]


def test_requiring_approvals_of_all_agents_applies_to_other_processes_until_its_process_dies(
    mine: ApprovalTable, others: ApprovalTable
) -> None:
    others.attend(now=NOW, listens=True)
    assert not mine.must_ask(now=NOW)
    others.attend(now=NOW, listens=False, asks_for_all=True)
    assert (mine.must_ask(now=NOW), others.must_ask(now=NOW), mine.live(now=NOW)[1]) == (True, False, False)
    assert not mine.must_ask(now=NOW + LEASE_SECONDS + 1)
    others.attend(now=NOW, listens=False)
    assert not mine.must_ask(now=NOW)


def test_of_many_at_once_one_opens_and_one_uses_a_request(journal: Journal, open_journal: OpenJournal) -> None:
    several = [ApprovalTable(one.approvals) for one in (journal, open_journal()) for _ in range(4)]
    with ThreadPoolExecutor(len(several)) as pool:
        asked = [pool.submit(ask, each, f"r{number}") for number, each in enumerate(several)]
        (name,) = {each.result()[0].id for each in asked}
        assert answer(several[0], name)
        assert sum(pool.map(lambda each: each.take(name), several)) == 1
