"""Joining hints: the newest counts, and no path is forgotten."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from filetools.watch.hints import Departure, Hint, HintBuffer

NAMES = st.sampled_from(["a", "b", "c"])
STEP = st.one_of(
    st.tuples(st.just("write"), NAMES, NAMES),
    st.tuples(st.just("delete"), NAMES, NAMES),
    st.tuples(st.just("move"), NAMES, NAMES),
    st.tuples(st.just("exchange"), NAMES, NAMES),
    st.tuples(st.just("move in"), NAMES, NAMES),
    st.tuples(st.just("move out"), NAMES, NAMES),
    st.tuples(st.just("give up"), NAMES, NAMES),
    st.tuples(st.just("take"), NAMES, NAMES),
)


def test_a_chain_of_moves_starts_where_the_file_was_known() -> None:
    hints = HintBuffer()
    hints.arrive(hints.depart("a"), "b")
    hints.arrive(hints.depart("b"), "c")
    assert sorted(hints.take(10), key=lambda hint: hint.path) == [Hint("changed", "b"), Hint("moved", "c", "a")]


@given(st.lists(STEP, max_size=30))
def test_every_difference_is_hinted_at_and_nothing_present_is_called_deleted(
    steps: list[tuple[str, str, str]],
) -> None:
    disk: dict[str, int] = {"a": 1, "b": 2}
    seen = dict(disk)
    hints = HintBuffer()
    outside: list[Departure] = []

    def check() -> None:
        taken = hints.take(1000)
        told = {hint.path for hint in taken} | {hint.old_path for hint in taken}
        assert {path for path in disk.keys() | seen.keys() if disk.get(path) != seen.get(path)} <= told
        assert not [hint for hint in taken if hint.kind == "deleted" and hint.path in disk]
        assert not [hint for hint in taken if hint.kind == "moved" and hint.path not in disk]
        seen.clear()
        seen.update(disk)

    for number, (step, one, two) in enumerate(steps, start=3):
        match step:
            case "write":
                hints.change(one)
                disk[one] = number
            case "move in":
                disk[one] = number
                hints.change(one)
            case "delete" if one in disk:
                del disk[one]
                hints.delete(one)
            case "move" if one in disk and one != two:
                disk[two] = disk.pop(one)
                hints.arrive(hints.depart(one), two)
            case "exchange" if one in disk and two in disk and one != two:
                disk[one], disk[two] = disk[two], disk[one]
                hints.arrive(hints.depart(one), two)
                hints.arrive(hints.depart(two), one)
            case "move out" if one in disk:
                del disk[one]
                outside.append(hints.depart(one))
            case "give up" | "take":
                while outside:
                    hints.give_up(outside.pop())
                check()
    while outside:
        hints.give_up(outside.pop())
    check()


def test_a_file_that_was_replaced_and_then_moved_away_is_not_forgotten() -> None:
    buffer = HintBuffer()
    buffer.change("save.tmp")
    buffer.arrive(buffer.depart("save.tmp"), "known")
    buffer.arrive(buffer.depart("known"), "elsewhere")
    assert {(hint.kind, hint.path, hint.old_path) for hint in buffer.take(10)} == {
        ("moved", "elsewhere", "save.tmp"),
        ("changed", "known", None),
    }


def test_what_is_written_is_not_only_listed_whichever_is_noted_first() -> None:
    hints = HintBuffer()
    hints.change("a", is_listed=True)
    hints.change("a")
    hints.change("b")
    hints.change("b", is_listed=True)
    hints.change("c", is_listed=True)
    assert hints.take(10) == [Hint("changed", "a"), Hint("changed", "b"), Hint("changed", "c", is_listed=True)]
