from __future__ import annotations

from filetools.versions.undo import FormerNames


def test_a_name_that_a_moved_file_took_says_nothing_of_its_former_bearer() -> None:
    names = FormerNames()
    names.passed("a", "b")
    assert (names.now("b"), names.now("b/x"), names.now("a"), names.now("c"), names.now("ab")) == (
        None, None, "b", "c", "ab"
    )  # fmt: skip


def test_moves_are_followed_from_the_oldest_to_the_newest() -> None:
    names = FormerNames()
    names.passed("t", "u")  # the newest
    names.passed("d", "t/d")
    names.passed("a", "d/b")
    assert names.now("a") == "u/d/b"
    assert names.now("d/c") == "u/d/c"
    assert names.place("d/new") == "u/d/new"
    assert names.place("new") == "new"
    assert names.place("u/x") is None


def test_a_swap_by_three_moves_is_followed() -> None:
    names = FormerNames()
    for old, new in [("c", "b"), ("b", "a"), ("a", "c")]:
        names.passed(old, new)
    assert (names.now("a"), names.now("b")) == ("b", "a")


def test_what_the_draft_has_moved_back_is_there() -> None:
    names = FormerNames()
    names.passed("p", "e/q")
    names.taken_back("d", "e", where="e", home="d")
    assert names.now("p") == "d/q"
    assert names.now("d/x") == "d/x"
    names.taken_back("a", "d/x", where="d/x", home="a")
    assert (names.now("a"), names.now("p")) == ("a", "d/q")


def test_below_a_move_that_was_taken_back_later_ones_count() -> None:
    names = FormerNames()
    names.taken_back("a/x", "c", where="c", home="b/x")
    names.taken_back("a", "b", where="b", home="a")
    assert names.now("a/x") == "a/x"
