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


def test_writes_of_one_file_are_one_hint() -> None:
    hints = HintBuffer()
    hints.change("a")
    hints.change("a")
    assert hints.take(10) == [Hint("changed", "a")]


def test_the_last_of_deleting_and_writing_counts() -> None:
    hints = HintBuffer()
    hints.change("a")
    hints.delete("a")
    hints.delete("b")
    hints.change("b")
    assert hints.take(10) == [Hint("deleted", "a"), Hint("changed", "b")]


def test_a_chain_of_moves_starts_where_the_file_was_known() -> None:
    hints = HintBuffer()
    hints.arrive(hints.depart("a"), "b")
    hints.arrive(hints.depart("b"), "c")
    assert sorted(hints.take(10), key=lambda hint: hint.path) == [Hint("changed", "b"), Hint("moved", "c", "a")]


def test_deleting_a_moved_file_keeps_its_origin_in_sight() -> None:
    hints = HintBuffer()
    hints.arrive(hints.depart("a"), "b")
    hints.delete("b")
    assert {hint.path: hint.kind for hint in hints.take(10)} == {"a": "changed", "b": "deleted"}


def test_what_was_exchanged_with_an_unwatched_file_is_not_deleted() -> None:
    hints = HintBuffer()
    departure = hints.depart("a")
    hints.change("a")
    assert hints.take(10) == [Hint("changed", "a")]
    hints.give_up(departure)
    assert hints.take(10) == []


def test_take_gives_the_oldest_first_and_no_more_than_asked() -> None:
    hints = HintBuffer()
    for number in range(5):
        hints.change(str(number))
    assert [hint.path for hint in hints.take(2)] == ["0", "1"]
    assert [hint.path for hint in hints.take(10)] == ["2", "3", "4"]
    assert len(hints) == 0


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


def test_a_name_made_and_moved_on_at_once_is_a_move_to_its_last_name() -> None:
    buffer = HintBuffer()
    buffer.change("save.tmp")
    buffer.arrive(buffer.depart("save.tmp"), "text")
    assert buffer.take(10) == [Hint("moved", "text", "save.tmp")]


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


def test_what_was_deleted_before_it_is_listed_was_changed() -> None:
    hints = HintBuffer()
    hints.delete("a")
    hints.change("a", is_listed=True)
    assert hints.take(10) == [Hint("changed", "a")]
