"""References: what is marked is kept exactly, and what is badly marked hides nothing."""

from __future__ import annotations

import pytest

from filetools.descriptors.descriptors import find_references
from filetools.settings import DescriptorSettings
from tests.support.journals import MakeDescriptors


def found(text: str) -> dict[str, str]:
    return dict(find_references(text))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<ref>text</ref>",
        '<ref id="">text</ref>',
        '<ref id="a"/>',
        '<ref id="a" />',
        "</ref>",
        '<ref id="a">never closed',
        '<REF id="a">text</REF>',
        '<refx id="a">text</ref>',
        "<ref id=a>text</ref>",
        """<ref id="it's">text</ref>""",
        """<ref note=' id="a"'>text</ref>""",
        """<ref data-id="a">text</ref>""",
    ],
)
def test_what_is_no_reference_is_none(text: str) -> None:
    assert find_references(text) == []


def test_what_was_never_closed_swallows_nothing() -> None:
    assert found('<ref id="a">open <ref id="b">text</ref> rest') == {"b": "text"}
    assert found('<ref id="a"><ref id="b">x</ref><ref id="c">y</ref>') == {"b": "x", "c": "y"}


def test_the_text_between_the_tags_is_kept_exactly() -> None:
    assert found('<ref id="a">\n  x < y & "z"\r\n</ref>') == {"a": '\n  x < y & "z"\r\n'}
    assert found('<ref id="a"></ref>') == {"a": ""}


@pytest.mark.parametrize(
    "tag",
    [
        '<ref id="a">',
        "<ref id='a'>",
        '<ref  id = "a"  >',
        '<ref lang="x>y" id="a">',
        "<ref\nid='a'\nlang='b'>",
        '<ref hidden id="a">',
    ],
)
def test_tags_may_be_written_in_many_ways(tag: str) -> None:
    assert found(f"{tag}text</ref >") == {"a": "text"}


def test_an_outer_reference_keeps_its_inner_tags() -> None:
    text = '<ref id="a">1<ref id="b">2</ref>3</ref><ref id="c">4</ref>'
    assert find_references(text) == [
        ("b", "2"),
        ("a", '1<ref id="b">2</ref>3'),
        ("c", "4"),
    ]


def test_a_tag_without_an_id_is_closed_by_its_own() -> None:
    for inner in ("<ref>", "<ref hidden>", "<ref lang='x'>"):
        text = f'<ref id="a">1{inner}2</ref>3</ref>'
        assert found(text) == {"a": f"1{inner}2</ref>3"}


def test_ids_may_be_any_text_without_quotes() -> None:
    assert found('<ref id="ä b/c:1 <x>">text</ref>') == {"ä b/c:1 <x>": "text"}


@pytest.mark.parametrize(
    "piece",
    [
        '<ref id="a">',
        "<ref ",
        '<ref id="',
        "<ref id='",
        '<ref a="1"',
        ' a="<ref b="',
        "</ref>",
        '<ref a="1" ' * 3,
        "<ref\n",
        "<ref a ",
        " a",
    ],
)
def test_reading_takes_time_in_proportion_to_the_text(piece: str) -> None:
    find_references(piece * 100_000)  # a quadratic reader would not end before the time limit of the test


def test_references_are_kept_only_where_that_is_switched_on(make: MakeDescriptors) -> None:
    assert make(DescriptorSettings()).keep_references('<ref id="a">text</ref>') == []


def test_a_later_reference_replaces_an_earlier_one(make: MakeDescriptors) -> None:
    descriptors = make(DescriptorSettings(enable_references=True))
    kept = descriptors.keep_references('<ref id="a">one</ref><ref id="b">two</ref>')
    assert kept == [
        {"id": "a", "fd_id": "ref:a", "content": "one", "length": 3},
        {"id": "b", "fd_id": "ref:b", "content": "two", "length": 3},
    ]
    descriptors.keep_references('<ref id="a">three</ref>')
    assert descriptors.text("ref:a").text == "three"
    assert [info.id for info in descriptors.all()] == ["ref:a", "ref:b"]
    assert descriptors.create("next").attributes["fd"] == "fd:1"  # references use no numbers
