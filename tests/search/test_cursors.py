from __future__ import annotations

import base64
import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filetools.errors import InvalidArgumentError
from filetools.search.options import decode_cursor, encode_cursor

VALUES = st.text() | st.integers() | st.booleans() | st.text(alphabet=st.characters(categories=["Cs"]), max_size=3)


def signed(body: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(body).digest()[:6] + body).rstrip(b"=").decode()


@pytest.mark.parametrize(
    "text",
    [
        "not a cursor",
        "ünïcode",
        "\ud800",
        "A" * 70_000,
        signed(b"[]"),
        signed(b'{"a":1.5}'),
        signed(b'{"a":[1]}'),
        signed(b'{"a":"\xff"}'),
        signed(b"[" * 40_000),
        signed(b'{"a":' + b"9" * 5000 + b"}"),
    ],
)
def test_malformed_cursor_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match="bad cursor"):
        decode_cursor(text)


def test_every_changed_or_missing_character_is_noticed() -> None:
    cursor = encode_cursor({"path": "src/app.py", "type": "file", "number": 7})
    for place in range(len(cursor)):
        other = "A" if cursor[place] != "A" else "B"
        for damaged in (
            cursor[:place] + other + cursor[place + 1 :],
            cursor[:place] + cursor[place + 1 :],
            cursor[:place],
        ):
            with pytest.raises(InvalidArgumentError):
                decode_cursor(damaged)


@pytest.mark.parametrize("extra", ["=", "==", "\n", " ", "+", "/", "A"])
def test_added_characters_are_noticed(extra: str) -> None:
    with pytest.raises(InvalidArgumentError):
        decode_cursor(encode_cursor({"a": 1}) + extra)


@given(st.dictionaries(st.text(), VALUES))
def test_fields_survive_and_the_text_is_safe_in_a_url(fields: dict[str, str | int | bool]) -> None:
    cursor = encode_cursor(fields)
    assert re.fullmatch(r"[A-Za-z0-9_-]+", cursor)
    found = decode_cursor(cursor)
    assert found == fields
    assert {name: type(value) for name, value in found.items()} == {name: type(value) for name, value in fields.items()}
