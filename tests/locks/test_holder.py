"""The line that names a holder."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filetools.locks.holder import LINE_BYTES, UNKNOWN, from_line, to_line


@pytest.mark.parametrize("line", [b"", b"\0" * 511, b"12\t", b"x\t1\to\tp", b"1\tx\to\tp", b"\xff\xfe\t\t\t"])
def test_torn_line_names_nobody(line: bytes) -> None:
    assert from_line(line) == UNKNOWN


@given(st.text(st.characters(codec=None), max_size=600), st.text(st.characters(codec=None), max_size=600))
def test_line_has_one_size_and_is_readable_whatever_the_names(path: str, owner: str) -> None:
    line = to_line(path, owner, process_id=2**31, since_ns=2**62)
    info = from_line(line)
    assert len(line) == LINE_BYTES
    assert info.process_id == 2**31
    assert (info.path + info.owner).encode("utf-8").decode() == info.path + info.owner
