from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from random import Random

import pytest
from msgspec import structs

from filetools.content.differences.diff import minimal_edits
from filetools.content.editing.text_edits import TextEdit, apply_text_edits, in_utf16
from filetools.editors.editor_state import EditorState
from filetools.editors.shown import Selection, ShownDocument
from filetools.errors import InvalidArgumentError
from filetools.events.bus import EventBus
from filetools.events.types import (
    BufferAbandoned,
    BufferBehind,
    BufferChanged,
    BufferClosed,
    BufferMoved,
    BufferOpened,
    BufferSaved,
    ChangeReason,
    FileModified,
    Resync,
)
from filetools.models.buffers import BufferResult
from filetools.models.records import Actor

ANN = Actor(kind="editor", id="ann", session="w1")
BOB = Actor(kind="agent", id="bob", session="s1")
FACE = "\U0001f600"
TEXT = "one\ntwo\nthree\nfour\n"


class Shared:
    """A shared document that publishes its changes on a bus, in the wire format."""

    def __init__(self, bus: EventBus, text: str = TEXT, path: str = "a.txt") -> None:
        self.bus, self.text, self.path, self.version = bus, text, path, 1

    def edit(self, *edits: TextEdit, by: Actor = BOB, reason: ChangeReason = "typed", dirty: bool = True) -> None:
        """Apply edits with offsets in characters, and publish them."""
        event = self.change(*edits, by=by, reason=reason, dirty=dirty)
        self.bus.publish(event)

    def change(self, *edits: TextEdit, by: Actor, reason: ChangeReason = "typed", dirty: bool = True) -> BufferChanged:
        told = tuple(in_utf16(self.text, edits))
        self.text = apply_text_edits(self.text, edits)
        self.version += 1
        return BufferChanged(
            path=self.path, document="1", actor=by, version=self.version, edits=told, dirty=dirty, reason=reason
        )


def opened(path: str, text: str, version: int, *, is_dirty: bool = False, behind: str | None = None) -> BufferResult:
    return BufferResult(
        handle="h",
        document="1" if path == "a.txt" else "2",
        path=path,
        text=text,
        buffer_version=version,
        version="sha256:0",
        disk_version=behind,
        dirty=is_dirty,
        behind=behind is not None,
        encoding="utf-8",
        bom=False,
        newline="lf",
    )


class Window:
    """An editor that notes resync requests."""

    def __init__(self, bus: EventBus) -> None:
        self.asked: list[str] = []
        self.state = EditorState(ANN, self.asked.append)
        self.state.attach(bus)

    @property
    def a(self) -> ShownDocument:
        return self.state.documents["a.txt"]


@pytest.fixture
async def bus() -> AsyncIterator[EventBus]:
    made = EventBus()
    yield made
    await made.aclose()


@pytest.fixture
def shared(bus: EventBus) -> Shared:
    return Shared(bus)


@pytest.fixture
def window(bus: EventBus, shared: Shared) -> Window:
    made = Window(bus)
    made.state.show(opened("a.txt", shared.text, shared.version))
    return made


def test_a_place_that_is_not_in_the_text_is_refused(window: Window) -> None:
    for refused in ({"carets": [20]}, {"carets": [-1]}, {"first_line": 6}, {"first_line": 0}):
        with pytest.raises(InvalidArgumentError):
            window.state.look("a.txt", **refused)
    with pytest.raises(InvalidArgumentError):
        window.state.look("a.txt", selections=[Selection(anchor=0, head=20)])
    with pytest.raises(InvalidArgumentError):
        window.state.look("b.txt", carets=[0])
    assert window.a == ShownDocument(path="a.txt", document="1", text=TEXT, version=1)


def test_a_place_inside_a_character_is_refused(window: Window) -> None:
    window.state.show(opened("b.txt", f"a{FACE}", 1))
    with pytest.raises(InvalidArgumentError):
        window.state.look("b.txt", carets=[2])
    assert window.state.look("b.txt", carets=[3, 1]).carets == (3, 1)


def test_a_missed_change_is_asked_for_once_and_never_guessed(window: Window, shared: Shared) -> None:
    shared.change(TextEdit(0, 0, "lost "), by=BOB)
    shared.edit(TextEdit(0, 0, "seen "))
    shared.edit(TextEdit(0, 0, "more "))
    assert (window.asked, window.a.text, window.a.is_stale) == (["a.txt"], TEXT, True)
    window.state.show(opened("a.txt", shared.text, shared.version, is_dirty=True))
    assert window.a == ShownDocument(path="a.txt", document="1", text=shared.text, version=4, is_dirty=True)
    shared.edit(TextEdit(0, 5, ""))
    assert (window.asked, window.a.text) == (["a.txt"], shared.text)


def test_changes_received_while_the_text_is_read_again_are_included(window: Window, shared: Shared) -> None:
    shared.change(TextEdit(0, 0, "lost "), by=BOB)
    shared.edit(TextEdit(0, 0, "seen "))
    read = (shared.text, shared.version)
    shared.edit(TextEdit(0, 0, "later "))
    window.state.show(opened("a.txt", *read))
    assert (window.asked, window.a.text, window.a.version) == (["a.txt"], shared.text, 4)


def test_changes_received_before_the_document_is_shown_are_included(bus: EventBus, shared: Shared) -> None:
    window = Window(bus)
    read = (shared.text, shared.version)
    bus.publish(BufferOpened(path="a.txt", document="1", actor=BOB, version=1))
    shared.edit(TextEdit(0, 3, "1"))
    assert window.state.show(opened("a.txt", *read)).text == shared.text
    assert window.asked == []


def test_edits_that_do_not_fit_make_the_document_stale(window: Window, bus: EventBus) -> None:
    edits = (TextEdit(90, 99, "x"),)
    bus.publish(
        BufferChanged(path="a.txt", document="1", actor=BOB, version=2, edits=edits, dirty=True, reason="typed")
    )
    assert (window.asked, window.a.text, window.a.is_stale) == (["a.txt"], TEXT, True)


def test_missing_events_make_every_document_stale(window: Window, bus: EventBus) -> None:
    window.state.show(opened("b.txt", "b", 1))
    bus.publish(Resync(position=None, reason="overflow"))
    bus.publish(Resync(position=None, reason="overflow"))
    assert sorted(window.asked) == ["a.txt", "b.txt"]
    window.state.show(opened("b.txt", "b", 1))
    assert [one.is_stale for one in window.state.documents.values()] == [True, False]


def test_a_caret_moves_with_its_text(window: Window, shared: Shared) -> None:
    window.state.look("a.txt", carets=[5], selections=[Selection(anchor=8, head=4)], first_line=2)
    shared.edit(TextEdit(0, 0, f"{FACE}\n"), TextEdit(14, 18, "4"))
    assert (window.a.carets, window.a.selections) == ((8,), (Selection(anchor=11, head=7),))
    assert window.a.first_line == 3


def test_a_caret_moves_behind_own_typing_and_stays_before_that_of_others(window: Window, shared: Shared) -> None:
    window.state.look("a.txt", carets=[3])
    shared.edit(TextEdit(3, 3, "xy"), by=structs.replace(ANN, call="c1"))
    assert window.a.carets == (5,)
    shared.edit(TextEdit(5, 5, "z"), by=BOB)
    shared.edit(TextEdit(5, 5, "z"), by=structs.replace(ANN, session="w2"))
    assert window.a.carets == (5,)


def test_text_that_others_insert_at_the_ends_of_a_selection_is_not_selected(window: Window, shared: Shared) -> None:
    window.state.look("a.txt", selections=[Selection(anchor=4, head=7)])
    shared.edit(TextEdit(4, 4, "<"), TextEdit(7, 7, ">"))
    assert window.a.selections == (Selection(anchor=5, head=8),)
    shared.edit(TextEdit(0, 10, "gone"))
    (left,) = window.a.selections
    assert left.anchor == left.head


@pytest.mark.parametrize(
    ("edit", "line"),
    [
        (TextEdit(8, 8, "new\n"), 4),
        (TextEdit(7, 7, "\nnew"), 4),
        (TextEdit(8, 8, "x"), 3),
        (TextEdit(14, 14, "new\n"), 3),
        (TextEdit(0, 4, ""), 2),
        (TextEdit(8, 14, ""), 3),
        (TextEdit(4, 14, ""), 2),
        (TextEdit(7, 8, " "), 2),
    ],
)
def test_the_first_visible_line_stays_the_same_line(window: Window, shared: Shared, edit: TextEdit, line: int) -> None:
    window.state.look("a.txt", first_line=3)
    shared.edit(edit)
    assert window.a.first_line == line


def test_a_document_that_is_read_again_keeps_its_place(window: Window, shared: Shared, bus: EventBus) -> None:
    window.state.look("a.txt", carets=[9], first_line=3)
    bus.publish(Resync(position=None, reason="overflow"))
    window.state.show(opened("a.txt", "zero\none\ntwo\nthree!\nfour\n", 9))
    assert window.a.text == "zero\none\ntwo\nthree!\nfour\n"
    assert (window.a.carets, window.a.first_line) == ((14,), 4)


def test_dirty_ends_only_when_the_text_is_in_the_file(window: Window, shared: Shared, bus: EventBus) -> None:
    seen: list[bool] = []
    bus.subscribe("*", lambda _event: seen.append(window.a.is_dirty))
    shared.edit(TextEdit(0, 0, "x"))
    bus.publish(FileModified(path="a.txt", actor=BOB, version="sha256:1"))
    bus.publish(BufferSaved(path="a.txt", document="1", actor=ANN, version=1, file_version="sha256:1"))
    shared.edit(TextEdit(5, 5, "y"), reason="merged")
    assert seen == [True] * 4
    bus.publish(BufferSaved(path="a.txt", document="1", actor=ANN, version=3, file_version="sha256:2"))
    shared.edit(TextEdit(0, 0, "x"))
    shared.edit(TextEdit(0, 1, ""), reason="disk", dirty=False)
    assert seen[4:] == [False, True, False]


def test_a_save_without_a_change_of_text_has_its_own_version(window: Window, shared: Shared, bus: EventBus) -> None:
    shared.edit(TextEdit(0, 0, "x"))
    shared.version += 1
    bus.publish(BufferSaved(path="a.txt", document="1", actor=ANN, version=3, file_version="sha256:2"))
    shared.edit(TextEdit(0, 0, "y"))
    assert window.a == ShownDocument(path="a.txt", document="1", text=shared.text, version=4, is_dirty=True)


def test_a_save_of_a_version_that_was_missed_makes_it_stale(window: Window, bus: EventBus) -> None:
    bus.publish(BufferSaved(path="a.txt", document="1", actor=ANN, version=5, file_version="sha256:2"))
    assert (window.asked, window.a.is_stale) == (["a.txt"], True)


def test_a_text_behind_its_file_is_marked_until_they_agree(window: Window, shared: Shared, bus: EventBus) -> None:
    bus.publish(BufferBehind(path="a.txt", document="1", actor=BOB, disk_version="sha256:9"))
    shared.edit(TextEdit(0, 0, "x"))
    assert (window.a.is_behind, window.a.disk_version) == (True, "sha256:9")
    shared.edit(TextEdit(0, 0, "y"), reason="merged")
    assert (window.a.is_behind, window.a.disk_version) == (False, None)


def test_a_moved_document_is_followed_under_its_new_path(window: Window, shared: Shared, bus: EventBus) -> None:
    window.state.look("a.txt", carets=[4])
    bus.publish(BufferMoved(old_path="a.txt", path="b.txt", document="1", actor=BOB))
    shared.path = "b.txt"
    shared.edit(TextEdit(0, 0, "x"))
    assert dict(window.state.documents) == {
        "b.txt": ShownDocument(path="b.txt", document="1", text=shared.text, version=2, is_dirty=True, carets=(5,))
    }


@pytest.mark.parametrize(
    "event",
    [
        BufferClosed(path="a.txt", document="1", actor=ANN),
        BufferAbandoned(path="a.txt", document="1", actor=ANN, kept_version="sha256:1"),
    ],
)
def test_a_document_that_is_gone_is_not_shown(
    window: Window, bus: EventBus, event: BufferClosed | BufferAbandoned
) -> None:
    bus.publish(event)
    assert dict(window.state.documents) == {}
    window.state.close("a.txt")


@pytest.mark.parametrize("seed", range(25))
def test_any_changes_missed_or_not_end_in_the_documents_text(bus: EventBus, seed: int) -> None:
    """After every change, carets are between the same letters; each letter occurs once in the text."""
    random = Random(seed)
    letters = iter(chr(0x1F300 + number if number % 3 else 0x4E00 + number) for number in range(4000))
    shared = Shared(bus, "".join(next(letters) + "\n" * (number % 4 == 0) for number in range(40)))
    window = Window(bus)
    window.state.show(opened("a.txt", shared.text, 1))
    for _ in range(80):
        if random.random() < 0.2:
            place = random.randrange(len(window.a.text))
            window.state.look("a.txt", carets=[len(window.a.text[:place].encode("utf-16-le")) // 2])
        by = random.choice([ANN, BOB])
        before, edits = shared.text, random_edits(random, shared.text, letters)
        event = shared.change(*edits, by=by)
        if random.random() < 0.9:
            shown = window.a
            bus.publish(event)
            if shown.text == before:
                assert_caret_stayed(before, shown.carets, window.a)
        if window.asked:
            window.asked.clear()
            window.state.show(opened("a.txt", shared.text, shared.version))
    window.state.show(opened("a.txt", shared.text, shared.version))
    assert (window.a.text, window.a.version) == (shared.text, shared.version)


def random_edits(random: Random, text: str, letters: Iterator[str]) -> Sequence[TextEdit]:
    start = random.randrange(len(text) + 1)
    end = min(len(text), start + random.choice([0, 0, 1, 3]))
    new = "".join(next(letters) for _ in range(random.randrange(3)))
    return minimal_edits(text, text[:start] + new + text[end:])


def assert_caret_stayed(before: str, carets: tuple[int, ...], shown: ShownDocument) -> None:
    for old, new in zip(carets, shown.carets, strict=True):
        left = cut(before, old)[0]
        now = cut(shown.text, new)
        assert not set(left.replace("\n", "")) & set(now[1])
        assert not set(cut(before, old)[1].replace("\n", "")) & set(now[0])


def cut(text: str, units: int) -> tuple[str, str]:
    data = text.encode("utf-16-le")
    return data[: 2 * units].decode("utf-16-le"), data[2 * units :].decode("utf-16-le")


def test_another_document_that_opens_where_one_has_moved_away_is_not_taken_for_it() -> None:
    state = EditorState(ANN, lambda _: None)
    moved = opened("a.txt", TEXT, 1).model_copy(update={"document": "first"})
    state.apply(BufferMoved(path="b.txt", document="first", actor=BOB, old_path="a.txt"))
    state.apply(BufferOpened(path="a.txt", document="second", actor=BOB, version=1))
    typed = BufferChanged(
        path="a.txt", document="second", actor=BOB, version=2, edits=(TextEdit(0, 0, "x"),), dirty=True, reason="typed"
    )
    state.apply(typed)
    assert (state.show(moved).path, state.documents["b.txt"].text) == ("b.txt", TEXT)
    state.apply(structs.replace(typed, path="b.txt", document="first"))
    shown = state.show(opened("a.txt", "other\n", 1).model_copy(update={"document": "second"}))
    assert (shown.text, state.documents["b.txt"].text) == ("xother\n", "x" + TEXT)
    state.apply(BufferClosed(path="b.txt", document="second", actor=BOB))
    assert sorted(state.documents) == ["b.txt"]
