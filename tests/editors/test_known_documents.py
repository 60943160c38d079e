"""Which documents are open, as far as a process has heard."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from filetools.content.formats import TextFormat
from filetools.editors.documents import KnownDocuments
from filetools.journal.document_rows import Document
from tests.support.step_count import steps_of


def document(name: str, key: str, *, is_dirty: bool = False) -> Document:
    form = TextFormat(encoding="utf-8", bom=b"")
    return Document(id=name, key=key, path=key, base=None, text_format=form, version=1, is_dirty=is_dirty)


def test_only_what_changed_is_told_and_the_rest_stays() -> None:
    known = KnownDocuments()
    one, two = document("1", "a"), document("2", "b", is_dirty=True)
    known.note([one, two], ())
    known.note([replace(one, version=2, is_dirty=True)], ())
    assert known.get("1") == replace(one, version=2, is_dirty=True) == known.at("a")
    assert (known.is_dirty("a"), known.is_dirty("b"), known.is_dirty("c")) == (True, True, False)
    assert known.get("2") is two


def test_documents_that_take_each_others_path_are_both_found() -> None:
    known = KnownDocuments()
    one, two = document("1", "a"), document("2", "b")
    known.note([one, two], ())
    known.note([replace(one, key="b"), replace(two, key="c")], ())
    assert (known.at("a"), known.at("b"), known.at("c")) == (None, replace(one, key="b"), replace(two, key="c"))


def test_a_closed_document_gives_its_path_to_the_next_one() -> None:
    known = KnownDocuments()
    known.note([document("1", "a")], ())
    again = document("2", "a")
    known.note([again], ["1", "never heard of"])
    assert (known.get("1"), known.at("a"), known.all()) == (None, again, [again])
    known.note([], ["2"])
    assert (known.at("a"), known.is_any) == (None, False)


def test_one_change_costs_as_much_beside_many_documents() -> None:
    steps = []
    for size in (2, 200):
        known = KnownDocuments()
        known.note([document(str(number), str(number)) for number in range(size)], ())
        steps.append(steps_of(partial(known.note, [document("1", "1", is_dirty=True)], ())))
    assert steps[0] == steps[1]
