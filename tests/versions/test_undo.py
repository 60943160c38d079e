"""Random histories of two actors: what one of them did goes, what the other did stands, or it is a conflict."""

from __future__ import annotations

import tracemalloc
from typing import Literal

from hypothesis import example, given, settings
from hypothesis import strategies as st

from filetools.models.records import Actor
from tests.support.dose import dose
from tests.support.histories import Workshop
from tests.support.step_count import steps_of

ALICE = Actor(kind="agent", id="alice")
BOB = Actor(kind="agent", id="bob")
START = "".join(f"start {number}\n" for number in range(12))

Kind = Literal["replace", "insert", "delete", "move"]
Act = tuple[Actor, Kind, int]
ACTS = st.lists(
    st.tuples(
        st.sampled_from([ALICE, BOB]),
        st.sampled_from(["replace", "replace", "insert", "insert", "delete", "move"]),
        st.integers(0, 60),
    ),
    max_size=12,
)


def after(acts: list[Act]) -> Workshop:
    """Return the workshop after some acts; every line says who wrote it, and no two are the same."""
    shop, path = Workshop({"a.txt": START}), "a.txt"
    for number, (actor, kind, where) in enumerate(acts):
        if kind == "move":
            shop.move(actor, path, path := f"moved {number}.txt")
            continue
        lines = shop.files[path].decode().splitlines(keepends=True)
        place = where % (len(lines) + 1) if kind == "insert" else where % max(len(lines), 1)
        new = [] if kind == "delete" else [f"{actor.id} {number}\n"]
        lines[place : place + (kind != "insert")] = new
        shop.write(actor, path, "".join(lines))
    return shop


def lines_of(shop_or_text: str, name: str) -> set[str]:
    return {line for line in shop_or_text.splitlines() if line.startswith(f"{name} ")}


@given(acts=ACTS)
@example(acts=[(ALICE, "replace", 3), (BOB, "replace", 3), (ALICE, "replace", 9)])
@example(acts=[(ALICE, "move", 0), (BOB, "insert", 5), (BOB, "move", 0), (ALICE, "insert", 2)])
@settings(max_examples=dose(150), deadline=None)
def test_what_others_wrote_stands_after_an_undo(acts: list[Act]) -> None:
    shop = after(acts)
    now = "".join(content.decode() for content in shop.files.values())
    files, findings = shop.without(ALICE)
    assert len(files) == 1
    (text,) = files.values()
    assert lines_of(text, "bob") >= lines_of(now, "bob")
    if all(finding.outcome != "conflict" for finding in findings):
        assert lines_of(text, "alice") == set()
        assert sorted(number for one in findings for number in [record.number for record in one.records]) == [
            record.number for record in shop.records if record.actor == ALICE
        ]


@given(acts=ACTS)
@settings(max_examples=dose(75), deadline=None)
def test_without_others_everything_is_as_it_was(acts: list[Act]) -> None:
    shop = after([(ALICE, kind, where) for _, kind, where in acts])
    files, findings = shop.without(ALICE)
    assert files == {"a.txt": START}
    assert all(finding.outcome in ("undone", "unchanged") for finding in findings)


@given(acts=ACTS)
@settings(max_examples=dose(75), deadline=None)
def test_far_from_each_other_nothing_is_a_conflict(acts: list[Act]) -> None:
    # Alice works in the first half of the lines and Bob in the second, with untouched lines between.
    lines = [f"start {number}\n" for number in range(24)]
    shop, place = Workshop({"a.txt": "".join(lines)}), "a.txt"
    for number, (actor, _, where) in enumerate(acts):
        index = where % 8 if actor == ALICE else 16 + where % 8
        lines[index] = f"{actor.id} {number}\n"
        shop.write(actor, place, "".join(lines))
    files, findings = shop.without(ALICE)
    assert all(finding.outcome != "conflict" for finding in findings)
    assert lines_of(files["a.txt"], "alice") == set()
    assert lines_of(files["a.txt"], "bob") == lines_of("".join(lines), "bob")


def in_turn(count: int) -> Workshop:
    """Return a workshop in which two actors have changed one file in turn, each so often."""
    lines = [f"start {number}\n" for number in range(1500)]
    shop = Workshop({"a.txt": "".join(lines)})
    for number in range(2 * count):
        lines[number * 7 % 1500] = f"{(ALICE, BOB)[number % 2].id} {number}\n"
        shop.write((ALICE, BOB)[number % 2], "a.txt", "".join(lines))
    return shop


def test_taking_back_twice_as_many_changes_costs_twice_as_much() -> None:
    few, many = in_turn(30), in_turn(60)
    assert steps_of(lambda: many.without(ALICE)) < 2.2 * steps_of(lambda: few.without(ALICE))


def test_of_the_texts_on_the_way_one_at_a_time_is_kept() -> None:
    def peak(count: int) -> int:
        shop = in_turn(count)
        tracemalloc.start()
        try:
            files, _ = shop.without(ALICE)
            assert "alice" not in files["a.txt"]
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(1)  # what is imported and remembered once does not count
    few = peak(10)
    assert peak(40) < 1.3 * few
