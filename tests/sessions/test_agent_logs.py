from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.support.agent_log_samples import FOLDER, write_samples
from tests.support.agent_logs import grown, hostile_lines, write_bulk

SAMPLES_LIMIT_BYTES = 60_000


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_samples_are_what_their_script_writes(tmp_path: Path) -> None:
    write_samples(tmp_path)
    assert contents(FOLDER) == contents(tmp_path)


def test_samples_are_small() -> None:
    assert sum(map(len, contents(FOLDER).values())) <= SAMPLES_LIMIT_BYTES


def test_the_same_seed_makes_the_same_logs(tmp_path: Path) -> None:
    for name, seed in (("one", 7), ("two", 7), ("other", 8)):
        grown(tmp_path / name, seed)
    assert contents(tmp_path / "one") == contents(tmp_path / "two") != contents(tmp_path / "other")


def test_fifty_seeds_have_every_kind_of_entry(tmp_path: Path) -> None:
    kinds: Counter[str] = Counter()
    for seed in range(50):
        grown(tmp_path, seed)
    for path in tmp_path.rglob("*.jsonl"):
        kinds.update(json.loads(line)["type"] for line in path.read_bytes().splitlines())
    assert set(kinds) == {
        "user", "assistant", "system", "attachment", "progress", "summary", "custom-title", "ai-title", "tag", "last-prompt",
        "file-history-snapshot", "queue-operation", "some-new-kind",
    }  # fmt: skip


@pytest.mark.parametrize("line", [pytest.param(line, id=name) for name, line in hostile_lines().items()])
def test_a_hostile_line_is_one_line(line: bytes) -> None:
    assert b"\n" not in line


def test_bulk_has_the_size_that_was_asked_for(tmp_path: Path) -> None:
    written = write_bulk(tmp_path, 8 << 20, sessions=4)
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert (len(sizes), sum(sizes)) == (4, written)
    assert 8 << 20 <= written < 10 << 20
