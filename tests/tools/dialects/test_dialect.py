"""What all dialects have in common."""

from __future__ import annotations

import pytest

from filetools.errors import InvalidArgumentError
from filetools.tools.dialects import DIALECTS, Dialect, dialect_named


@pytest.mark.parametrize("name", ["", "native", "claude_code", "x" * 10_000])
def test_an_unknown_dialect_is_refused(name: str) -> None:
    with pytest.raises(InvalidArgumentError, match="There is no dialect"):
        dialect_named(name)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_a_dialect_is_found_by_its_name_and_its_tools_by_its_group(dialect: Dialect) -> None:
    assert dialect_named(dialect.name) is dialect
    assert {tool.group for tool in dialect.tools} == {dialect.name}
    assert len({tool.name for tool in dialect.tools}) == len(dialect.tools)
