"""The contract of every journal: what mirrors owe."""

from __future__ import annotations

from filetools.journal import Debt, Journal
from tests.support.journals import OpenJournal, put


def owed(journal: Journal, mirror: str = "m") -> dict[str, int]:
    return {debt.key: debt.number for debt in journal.debts.of(mirror)}


def test_a_commit_owes_its_paths_to_each_mirror(journal: Journal) -> None:
    record = put(journal, "a", b"1", path="A", mirrors=["m", "n"])
    debt = Debt(mirror="m", key="a", path="A", number=record.number, tries=0)
    assert journal.debts.of("m") == [debt]
    assert journal.debts.get("m", "a") == debt
    assert journal.debts.count("n") == 1
    assert journal.debts.get("m", "b") is None
    assert journal.debts.of("other") == []


def test_a_commit_for_no_mirror_owes_nothing(journal: Journal) -> None:
    put(journal, "a", b"1")
    assert owed(journal) == {}


def test_debts_come_oldest_first_and_as_many_as_asked(journal: Journal) -> None:
    for key in ("c", "a", "b"):
        put(journal, key, b"1", mirrors=["m"])
    assert [debt.key for debt in journal.debts.of("m")] == ["c", "a", "b"]
    assert [debt.key for debt in journal.debts.of("m", limit=2)] == ["c", "a"]


def test_paying_an_older_number_pays_nothing(journal: Journal) -> None:
    put(journal, "a", b"1", mirrors=["m"])
    old = journal.debts.of("m")
    newer = put(journal, "a", b"2", mirrors=["m"])
    journal.debts.pay(old)
    assert owed(journal) == {"a": newer.number}
    journal.debts.pay(journal.debts.of("m"))
    assert owed(journal) == {}
    journal.debts.pay([])


def test_paying_one_mirror_leaves_the_other(journal: Journal) -> None:
    put(journal, "a", b"1", mirrors=["m", "n"])
    journal.debts.pay(journal.debts.of("m"))
    assert (owed(journal, "m"), owed(journal, "n")) == ({}, {"a": 1})


def test_a_debt_that_failed_too_often_steps_back_until_it_is_reset(journal: Journal) -> None:
    put(journal, "a", b"1", mirrors=["m"])
    put(journal, "b", b"1", mirrors=["m"])
    (debt, _) = journal.debts.of("m")
    for _ in range(5):
        journal.debts.fail(debt)
    assert owed(journal) == {"b": 2}
    assert journal.debts.count("m") == 2
    assert [each.tries for each in journal.debts.of("m", max_tries=6)] == [5, 0]
    journal.debts.reset("m")
    assert owed(journal) == {"a": 1, "b": 2}


def test_a_newer_change_gives_a_failed_debt_new_tries(journal: Journal) -> None:
    put(journal, "a", b"1", mirrors=["m"])
    (debt,) = journal.debts.of("m")
    for _ in range(5):
        journal.debts.fail(debt)
    put(journal, "a", b"2", mirrors=["m"])
    journal.debts.fail(debt)
    assert [each.tries for each in journal.debts.of("m")] == [0]


def test_owing_keeps_what_is_owed_already(journal: Journal) -> None:
    put(journal, "a", b"1", mirrors=["m"])
    journal.debts.owe("m", [("a", "a"), ("b", "B")])
    assert journal.debts.of("m") == [
        Debt(mirror="m", key="b", path="B", number=0, tries=0),
        Debt(mirror="m", key="a", path="a", number=1, tries=0),
    ]


def test_debts_outlive_the_process(open_journal: OpenJournal) -> None:
    journal = open_journal()
    put(journal, "a", b"1", mirrors=["m"])
    journal.close()
    assert owed(open_journal()) == {"a": 1}
