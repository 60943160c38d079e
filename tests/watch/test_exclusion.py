"""What is never watched."""

from __future__ import annotations

import pytest

from filetools.watch.exclusion import with_own_names
from tests.support.watching import excludes_nothing


@pytest.mark.parametrize(
    "path", [".filetools", ".FileTools", "sub/.filetools", ".ft-0123456789abcdef", "a/b/.ft-ffffffffffffffff"]
)
def test_own_names_are_left_out_at_any_depth(path: str) -> None:
    assert with_own_names(excludes_nothing)(path, True)


@pytest.mark.parametrize(
    "path", ["filetools", ".filetools2", ".ft-0123", ".ft-0123456789ABCDEF", "x.ft-0123456789abcdef"]
)
def test_similar_names_are_not(path: str) -> None:
    assert not with_own_names(excludes_nothing)(path, True)
