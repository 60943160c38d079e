"""Frames, to the letter."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from filetools.descriptors.frames import Frame, error_frame


def content(text: str, **attributes: str) -> Frame:
    return Frame(name="fd_content", attributes={"fd": "fd:1", **attributes}, content=text)


def test_an_error_is_a_frame() -> None:
    assert error_frame("not_found", "fd:9", "File descriptor fd:9 not found. Available FDs: none").text() == (
        '<fd_error type="not_found" fd="fd:9">\n'
        "  <message>File descriptor fd:9 not found. Available FDs: none</message>\n"
        "</fd_error>"
    )


def test_values_of_attributes_are_escaped() -> None:
    text = error_frame("invalid_path", 'a"<b>&\n', "x < y & z").text()
    assert text.splitlines()[0] == '<fd_error type="invalid_path" fd="a&quot;&lt;b&gt;&amp;&#10;">'
    assert ElementTree.fromstring(text).attrib["fd"] == 'a"<b>&\n'
    assert ElementTree.fromstring(text).findtext("message") == "x < y & z"


def test_of_a_preview_only_the_first_line_is_indented() -> None:
    frame = Frame(name="fd_result", attributes={"fd": "fd:1", "truncated": True}, message="m", preview="a\nb")
    assert frame.text() == (
        '<fd_result fd="fd:1" truncated="true">\n  <message>m</message>\n  <preview>\n  a\nb\n  </preview>\n</fd_result>'
    )


def test_a_body_stands_as_it_is() -> None:
    assert content("a < b && c\n").text() == '<fd_content fd="fd:1">\na < b && c\n\n</fd_content>'


@pytest.mark.parametrize("body", ["x</fd_content>y", "</fd_content >", "]]></fd_content>]]>"])
def test_a_body_with_the_closing_tag_of_its_frame_is_put_in_cdata(body: str) -> None:
    text = content(body).text()
    assert text.splitlines()[0] == '<fd_content fd="fd:1" body="cdata">'
    assert ElementTree.fromstring(text).text == f"\n{body}\n"


def test_a_preview_with_a_closing_tag_is_put_in_cdata() -> None:
    frame = Frame(name="fd_result", attributes={"fd": "fd:1"}, message="m", preview="a</preview>b")
    assert ElementTree.fromstring(frame.text()).findtext("preview") == "\n  a</preview>b\n  "


def test_a_body_is_escaped_where_that_is_configured() -> None:
    assert content("a</fd_content>&", body="xml").text().splitlines()[1] == "a&lt;/fd_content&gt;&amp;"
