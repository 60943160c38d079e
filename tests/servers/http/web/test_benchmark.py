from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from benchmarks.bench_page import measure_all
from benchmarks.measure import ROWS_FILE


def test_benchmark_of_the_page_tells_a_row_of_each_figure(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "rows"
    monkeypatch.setenv(ROWS_FILE, str(place))
    measure_all(browser, 1, 0.5, (500,))

    rows = {row["name"].removeprefix("page: "): row for row in map(json.loads, place.read_text().splitlines())}
    assert list(rows) == [
        "ready, median",
        "ready, worst",
        "ready / Monaco alone",
        "an agent's write in the model, p95 of 30",
        "an agent's write painted, p95 of 30",
        "longest frame, 500 files, scrolled to the end",
        "longest task, 500 files, scrolled to the end",
        "files written by agents, 500 files",
        "longest frame, 500 files, 0.5 s of agents' writes",
        "longest task, 500 files, 0.5 s of agents' writes",
        "events told, 500 files",
        "longest frame, 500 files, 0.5 s of events told",
        "longest task, 500 files, 0.5 s of events told",
        "requests that leave the machine",
        "errors and warnings in the console",
        "its own files, unpacked",
    ]
    # A change is in the model before it is painted, and neither is before the call that makes it.
    told, painted = (rows[f"an agent's write {where}, p95 of 30"]["ours"] for where in ("in the model", "painted"))
    assert 0 < told < painted
    assert {rows[name]["value"] for name in list(rows)[-3:-1]} == {0}
