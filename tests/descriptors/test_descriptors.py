"""Descriptors: made, read in every way, extracted, shared, forgotten."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import pytest

from filetools.descriptors.descriptors import Descriptors
from filetools.errors import (
    DescriptorExpiredError,
    DescriptorNotFoundError,
    FileToolsError,
    InvalidArgumentError,
    InvalidPageError,
    InvalidRangeError,
)
from filetools.settings import DescriptorSettings
from tests.support.clocks import Clock
from tests.support.journals import MakeDescriptors

LINES = "".join(f"line {number}\n" for number in range(1, 2001))


@pytest.fixture
def descriptors(make: MakeDescriptors) -> Descriptors:
    return make(DescriptorSettings())


def refused(kind: type[FileToolsError], call: Callable[[], object]) -> str:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def test_an_unknown_id_is_told_with_the_known_ones_in_natural_order(descriptors: Descriptors) -> None:
    message = refused(DescriptorNotFoundError, lambda: descriptors.read("fd:9"))
    assert message == "File descriptor fd:9 not found. Available FDs: none"
    for _ in range(11):
        descriptors.create("text")
    known = ", ".join(f"fd:{number}" for number in range(1, 12))
    for name in ("fd:12", "fd:0", "fd:01", "fd:-1", "fd:1 ", "FD:1", "1", "", "fd:" + "9" * 40, "ref:x", "fd:1\n"):
        message = refused(DescriptorNotFoundError, partial(descriptors.read, name))
        assert message == f"File descriptor {name} not found. Available FDs: {known}"


@pytest.mark.parametrize(
    ("asked", "kind", "message"),
    [
        ({"start": 0}, InvalidPageError, "Invalid page number. Valid range: 1-5"),
        ({"start": 6}, InvalidPageError, "Invalid page number. Valid range: 1-5"),
        ({"start": 10**30}, InvalidPageError, "Invalid page number. Valid range: 1-5"),
        ({"mode": "line", "start": 0}, InvalidRangeError, "Invalid line start position. Valid range: 1-2000"),
        ({"mode": "line", "start": 2001}, InvalidRangeError, "Invalid line start position. Valid range: 1-2000"),
        ({"mode": "char", "start": -1}, InvalidRangeError, "Invalid character start position. Valid range: 0-18892"),
        ({"mode": "char", "start": 18893}, InvalidRangeError, "Invalid character start position. Valid range: 0-18892"),
        ({"mode": "word"}, InvalidArgumentError, "Invalid mode: word. Valid options are 'page', 'line', or 'char'."),
        ({"count": 0}, InvalidArgumentError, "Invalid count: 0. It must be at least 1."),
        ({"count": -5, "mode": "line"}, InvalidArgumentError, "Invalid count: -5. It must be at least 1."),
    ],
)
def test_what_is_not_there_is_refused(
    descriptors: Descriptors, asked: dict[str, object], kind: type[FileToolsError], message: str
) -> None:
    descriptors.create(LINES)
    assert refused(kind, lambda: descriptors.read("fd:1", **asked)) == message  # type: ignore[arg-type]


def test_a_text_becomes_a_frame_with_its_first_page(descriptors: Descriptors) -> None:
    preview = "".join(f"line {number}\n" for number in range(1, 457))
    assert descriptors.create(LINES).text().replace(preview, "…\n") == (
        '<fd_result fd="fd:1" pages="5" truncated="false" lines="1-456" total_lines="2000" source="tool_result">\n'
        "  <message>Output exceeds 8000 characters. Use read_fd to read more pages.</message>\n"
        "  <preview>\n  …\n\n  </preview>\n</fd_result>"
    )


PARTS: list[tuple[dict[str, object], str, str | None]] = [
    ({"start": 3}, 'page="3" continued="false" truncated="false" lines="901-1309" mode="page" start="3" count="1"', None),
    ({"start": 4, "count": 9}, 'continued="false" truncated="false" lines="1310-2000" mode="page" start="4" count="2"', None),
    (
        {"start": 5, "count": 9},
        'page="5" continued="false" truncated="false" lines="1710-2000" mode="page" start="5" count="1"', None,
    ),
    (
        {"mode": "line", "start": 1999, "count": 5},
        'continued="false" truncated="false" lines="1999-2000" mode="line" start="1999" count="2"', "line 1999\nline 2000\n",
    ),
    (
        {"mode": "char", "start": 2, "count": 8},
        'continued="true" truncated="true" lines="1-2" mode="char" start="2" count="8"', "ne 1\nlin",
    ),
    ({"mode": "char"}, 'continued="false" truncated="true" lines="1-1" mode="char" start="0" count="1"', "l"),
    (
        {"read_all": True, "mode": "word", "start": -3},
        'page="all" continued="false" truncated="false" lines="1-2000" mode="all"', LINES,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "attributes", "text"), PARTS)
def test_parts_are_read_with_what_they_are(
    descriptors: Descriptors, asked: dict[str, object], attributes: str, text: str | None
) -> None:
    descriptors.create(LINES)
    frame = descriptors.read("fd:1", **asked)  # type: ignore[arg-type]
    head = frame.text().split("\n")[0]
    assert head.replace(' pages="5"', "").replace(' total_lines="2000"', "") == f'<fd_content fd="fd:1" {attributes}>'
    assert ' pages="5" ' in head
    assert ' total_lines="2000" ' in head
    assert text is None or frame.content == text


def test_an_empty_text_has_one_empty_page(descriptors: Descriptors) -> None:
    assert descriptors.create("").attributes["lines"] == "1-1"
    assert descriptors.read("fd:1", mode="char").to_dict() == {
        "frame": "fd_content", "fd": "fd:1", "pages": 1, "continued": False, "truncated": False, "lines": "1-1",
        "total_lines": 1, "mode": "char", "start": 0, "count": 0, "content": "",
    }  # fmt: skip
    assert descriptors.read("fd:1").content == descriptors.read("fd:1", mode="line").content == ""


def test_a_page_inside_a_line_says_so(descriptors: Descriptors) -> None:
    descriptors.create("x" * 10_000)
    page = descriptors.read("fd:1", start=2)
    assert (page.attributes["continued"], page.attributes["truncated"], page.attributes["lines"]) == (True, True, "1-1")
    assert not descriptors.read("fd:1", start=3).attributes["truncated"]


@pytest.mark.parametrize(
    ("asked", "attributes", "text"),
    [
        ({"mode": "line", "start": 2}, 'mode="line" content_size="7" start="2" count="1"', "line 2\n"),
        ({"read_all": True}, 'mode="all" content_size="18893" position="all"', LINES),
        (
            {"mode": "line", "start": 2000, "count": 9},
            'mode="line" content_size="10" start="2000" count="1"',
            "line 2000\n",
        ),
    ],
)
def test_a_part_becomes_a_descriptor_of_its_own(
    descriptors: Descriptors, asked: dict[str, object], attributes: str, text: str
) -> None:
    descriptors.create(LINES, page_size=100)
    frame = descriptors.read("fd:1", extract_to_new_fd=True, **asked)  # type: ignore[arg-type]
    assert frame.text() == (
        f'<fd_extraction source_fd="fd:1" new_fd="fd:2" {attributes}>\n'
        "  <message>Content from fd:1 has been extracted to fd:2</message>\n</fd_extraction>"
    )
    made = descriptors.info("fd:2")
    assert (made.source, made.page_size, descriptors.text("fd:2").text) == ("extraction", 100, text)


def test_other_owners_know_nothing_of_it(make: MakeDescriptors, descriptors: Descriptors) -> None:
    other = make(DescriptorSettings(), owner="other")
    descriptors.create("secret")
    unknown = refused(DescriptorNotFoundError, lambda: other.read("fd:7"))
    assert refused(DescriptorNotFoundError, lambda: other.read("fd:1")) == unknown.replace("fd:7", "fd:1")
    assert other.create("mine").attributes["fd"] == "fd:1"
    assert descriptors.text("fd:1").text == "secret"


def test_names_of_owners_cannot_be_made_to_overlap(make: MakeDescriptors) -> None:
    texts = {}
    for owner in ("a", 'a"', "a\n", "a\nfd:1", "", "\ud800"):
        one = make(DescriptorSettings(), owner=owner)
        one.create(f"of {owner!a}")
        texts[owner] = one
    assert [[info.id for info in one.all()] for one in texts.values()] == [["fd:1"]] * 6
    assert [one.text("fd:1").text for one in texts.values()] == [f"of {owner!a}" for owner in texts]


def test_a_text_over_the_limit_is_clipped_and_says_so(make: MakeDescriptors) -> None:
    descriptors = make(DescriptorSettings(max_bytes=10))
    frame = descriptors.create("ä" * 9)
    assert frame.message is not None
    assert frame.message.endswith(" Only the first 2 characters could be kept.")
    assert descriptors.text("fd:1").text == "ä" * 2


def test_texts_used_least_recently_go_first_and_are_known_to_have_been_there(make: MakeDescriptors) -> None:
    clock = Clock(1_000_000.0)
    descriptors = make(DescriptorSettings(max_bytes=3000), clock=clock)
    for letter in "abc":
        descriptors.create(letter * 1000)
        clock.now += 100
    descriptors.read("fd:1")
    clock.now += 100
    descriptors.create("d" * 1000)
    assert [info.id for info in descriptors.all()] == ["fd:1", "fd:3", "fd:4"]
    assert refused(DescriptorExpiredError, lambda: descriptors.read("fd:2")) == "File descriptor fd:2 has expired"
    clock.now += 40 * 24 * 3600
    descriptors.create("e")
    assert refused(DescriptorExpiredError, lambda: descriptors.read("fd:2")) == "File descriptor fd:2 has expired"


def test_opaque_ids_cannot_be_guessed_and_expire_after_a_day_without_use(make: MakeDescriptors) -> None:
    clock = Clock(1_000_000.0)
    descriptors = make(DescriptorSettings(), is_opaque=True, clock=clock)
    names = [str(descriptors.create(f"text {number}").attributes["fd"]) for number in range(100)]
    assert len(set(names)) == 100
    assert all(len(name) == len("fd:") + 22 for name in names)
    assert "not found" in refused(DescriptorNotFoundError, lambda: descriptors.read("fd:1"))
    clock.now += 23 * 3600
    descriptors.read(names[0])
    clock.now += 2 * 3600
    assert descriptors.text(names[0]).text == "text 0"
    assert "has expired" in refused(DescriptorExpiredError, lambda: descriptors.read(names[1]))
    assert [info.id for info in descriptors.all()] == [names[0]]


def test_another_owner_gets_the_references_and_what_is_named(make: MakeDescriptors) -> None:
    descriptors, child = (make(DescriptorSettings(enable_references=True), owner=owner) for owner in ("alice", "bob"))
    descriptors.create("one")
    descriptors.create("two")
    descriptors.keep_references('<ref id="a">marked</ref>')
    assert descriptors.share("bob", ["fd:2"]) == ["fd:1", "ref:a"]
    assert {info.id: child.text(info.id).text for info in child.all()} == {"fd:1": "two", "ref:a": "marked"}
    child.keep_references('<ref id="a">other</ref>')
    assert descriptors.text("ref:a").text == "marked"
    assert child.create("new").attributes["fd"] == "fd:2"
    refused(DescriptorNotFoundError, lambda: descriptors.share("bob", ["fd:9"]))


def test_long_input_of_a_person_is_kept(make: MakeDescriptors, descriptors: Descriptors) -> None:
    assert descriptors.page_user_input("x" * 8000) == "x" * 8000
    text = 'A "quoted" <b>\n\t & ' + "word " * 2000
    start = "A &quot;quoted&quot; &lt;b&gt; &amp; " + "word " * 76
    assert descriptors.page_user_input(text) == (
        f'<fd:1 preview="{start}w..." type="user_input" size="{len(text)}">\n'
        "This large user input has been stored in file descriptor fd:1."
        ' Use read_fd(fd="fd:1") to access the content.'
    )
    assert descriptors.text("fd:1").text == text
    assert descriptors.info("fd:1").source == "user_input"
    assert make(DescriptorSettings(page_user_input=False)).page_user_input(text) == text


def test_what_is_read_in_any_order_is_the_text(make: MakeDescriptors) -> None:
    chance = random.Random(7)
    text = "".join(chance.choice(["word ", "\n", "\r\n", "ä", "\U0001f600", "x" * 50]) for _ in range(5000))
    descriptors = make(DescriptorSettings(default_page_size=137))
    pages = int(descriptors.create(text).attributes["pages"])
    read = {page: descriptors.read("fd:1", start=page).content for page in chance.sample(range(1, pages + 1), pages)}
    assert "".join(read[page] or "" for page in sorted(read)) == text


def test_a_text_for_which_an_equal_one_goes_is_kept(make: MakeDescriptors) -> None:
    descriptors = make(DescriptorSettings(max_bytes=100))
    descriptors.create("a" * 60)
    descriptors.create("b" * 30)
    descriptors.create("a" * 60)
    assert descriptors.read("fd:3").content == "a" * 60
