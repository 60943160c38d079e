"""The check that the journal's files are still the named ones, cheap enough for every commit."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from filetools.errors import StateDamagedError
from filetools.journal.storage import birth
from filetools.journal.storage.birth import PARTS, Identities
from filetools.journal.storage.gate import GATE_FILE, TURN_FILE


@pytest.fixture
def sure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Identities]:
    """A directory so old that only its ctime is checked."""
    monkeypatch.setattr(birth, "SURE_AFTER_NS", 20_000_000)
    place = tmp_path / "state"
    place.mkdir()
    for part in (*PARTS, GATE_FILE, TURN_FILE):
        (place / part).write_bytes(b"")
    identities = Identities(place)
    deadline = time.monotonic() + 60
    while identities._checked is None and time.monotonic() < deadline:
        identities.check()
    assert identities._checked is not None
    return place, identities


def remove(place: Path) -> None:
    place.unlink()


def replace(place: Path) -> None:
    (place.parent / "other").write_bytes(b"")
    (place.parent / "other").replace(place)


def move_away(place: Path) -> None:
    place.rename(place.with_name("elsewhere"))


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("harm", [remove, replace, move_away])
def test_another_file_or_none_is_seen(sure: tuple[Path, Identities], harm: Callable[[Path], None], part: str) -> None:
    place, identities = sure
    harm(place / part)
    with pytest.raises(StateDamagedError):
        identities.check()


@pytest.mark.parametrize("harm", [remove, replace, move_away])
def test_another_gate_or_none_is_seen_once_the_times_tell(
    sure: tuple[Path, Identities], harm: Callable[[Path], None]
) -> None:
    place, identities = sure
    harm(place / GATE_FILE)
    deadline = time.monotonic() + 60

    def check_again() -> None:
        while time.monotonic() < deadline:
            identities.check()

    with pytest.raises(StateDamagedError):
        check_again()


def test_a_directory_gone_or_replaced_is_seen(sure: tuple[Path, Identities]) -> None:
    place, identities = sure
    place.rename(place.with_name("moved"))
    with pytest.raises(StateDamagedError):
        identities.check()
    shutil.copytree(place.with_name("moved"), place)
    with pytest.raises(StateDamagedError):
        identities.check()
