"""A mirror that vanishes, is replaced and comes back while processes write and are killed: at rest it is equal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.dose import dose
from tests.support.mirror_outages import outages


@pytest.mark.parametrize("seed", range(dose(2)))
def test_a_mirror_is_equal_after_outages_kills_and_swaps_of_its_folder(tmp_path: Path, seed: int) -> None:
    assert outages(tmp_path, seed, tmp_path / "mirror") == []
