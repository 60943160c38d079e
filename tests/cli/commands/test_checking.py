from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import fields
from pathlib import Path

import pytest

from filetools.settings import Settings
from tests.support.terminal import CommandLine


def damage(root: Path) -> None:
    (root / ".filetools/state" / "journal.db").write_bytes(b"no database at all\n" * 500)


def test_doctor_fails_on_a_damaged_journal_and_names_the_way_out(run: CommandLine) -> None:
    run("write", "a.txt", "--content", "x")
    damage(run.folder)
    done = run("doctor")
    assert (done.code, "STATE_DAMAGED" in done.error, "--repair" in done.error) == (1, True, True)
    assert run("ls").code == 1


@pytest.mark.parametrize("command", ["status", "doctor", "log", "read"])
def test_a_state_that_may_not_be_looked_at_is_an_error(run: CommandLine, command: str) -> None:
    run("write", "a.txt", "--content", "x")
    (run.folder / ".filetools").chmod(0)
    drop = "-dac_override,-dac_read_search"  # root may look everywhere
    as_owner = ["setpriv", f"--inh-caps={drop}", f"--bounding-set={drop}"] if os.geteuid() == 0 else []
    line = [*as_owner, sys.executable, "-m", "filetools", command, *(["a.txt"] if command == "read" else [])]
    done = subprocess.run(line, cwd=run.folder, capture_output=True, text=True, check=False, timeout=60)
    (run.folder / ".filetools").chmod(0o700)
    assert "Traceback" not in done.stderr
    assert (done.returncode, "PERMISSION_DENIED" in done.stderr) == (5, True)


def test_doctor_repairs_a_damaged_journal_and_leaves_the_files(run: CommandLine) -> None:
    run("write", "a.txt", "--content", "x")
    damage(run.folder)
    done = run("doctor", "--repair", "--json")
    assert (done.code, done.json["success"], done.json["data"]["journal"]["problem"]) == (0, True, None)
    aside = run.folder / ".filetools/state" / done.json["data"]["repair"]["aside"]
    assert (aside / "journal.db").read_bytes().startswith(b"no database")
    assert run("read", "a.txt").text == "x"
    assert run("append", "a.txt", "--content", "y").code == 0


def test_doctor_says_what_a_repair_keeps_and_what_is_lost(run: CommandLine) -> None:
    run("write", "a.txt", "--content", "x")
    with closing(sqlite3.connect(run.folder / ".filetools/state/journal.db")) as database, database:
        database.execute("UPDATE records SET size = 9")
    done = run("doctor", "--repair")
    told = " ".join(done.text.split())
    assert "kept 1 content, 0 unsaved texts, 0 mirrors; your files are as they were" in told
    assert "lost records (1), checkpoints (0), undo, runs and projects" in told
    damage(run.folder)
    assert "lost records (not counted), checkpoints (not counted)" in " ".join(run("doctor", "--repair").text.split())
    assert run("read", "a.txt").text == "x"


def test_doctor_refuses_to_repair_while_a_process_has_the_root_open(run: CommandLine) -> None:
    run("write", "a.txt", "--content", "x")
    epoch = run("status", "--json").json["data"]["epoch"]
    with run.started("follow", "--since", f"{epoch}:0") as process:
        process.output.readline()
        done = run("doctor", "--repair")
    assert (done.code, done.error.startswith("error LOCK_TIMEOUT")) == (4, True)


def test_doctor_makes_no_state_and_says_what_is_missing(run: CommandLine) -> None:
    found = run("doctor", "--json").json["data"]
    assert (found["root"]["has_state"], found["journal"]) == (False, None)
    assert found["extras"]["cli"]["missing"] == []
    assert {"mcp", "server", "search"} <= found["extras"].keys()
    assert found["programs"].keys() == {"git"}
    assert not (run.folder / ".filetools").exists()
    assert "[cli]" in run("doctor").text


def test_doctor_prints_each_setting_with_its_source(run: CommandLine, tmp_path: Path) -> None:
    (run.folder / ".filetools").mkdir()
    (run.folder / ".filetools" / "settings.toml").write_text("worker_threads = 8\nmax_read_bytes = 5\n")
    user = tmp_path / "configuration"
    user.mkdir(parents=True)
    (user / "settings.toml").write_text("worker_threads = 4\nretention_bytes = 10\n")
    told = run(
        "doctor",
        "--settings",
        "--json",
        more={
            "FILETOOLS_DURABILITY": "relaxed",
            "FILETOOLS_LOCK_TIMEOUT_SECONDS": "7",
            "FILETOOLS_CONFIG_DIR": str(user),
        },
    ).json["data"]
    assert told.keys() == {each.name for each in fields(Settings)}
    assert told["durability"] == {"value": "relaxed", "source": "environment"}
    assert told["lock_timeout_seconds"] == {"value": 7.0, "source": "environment"}
    assert told["worker_threads"] == {"value": 4, "source": "user settings.toml"}
    assert told["max_read_bytes"] == {"value": 5, "source": "settings.toml in the tree"}
    assert told["retention_bytes"] == {"value": 10, "source": "user settings.toml"}
    assert told["hard_links"] == {"value": "break", "source": "default"}
    assert 'hard_links               default                    "break"' in run("doctor", "--settings").lines


def test_trust_accepts_the_state_that_is_named_and_says_how(run: CommandLine, tmp_path: Path) -> None:
    run("write", "a.txt", "--content", "x")
    assert run("trust", "set-aside-1", "--yes").code == 2
    first, second = shutil.copytree(run.folder, tmp_path / "first"), tmp_path / "second copy"
    run("append", "a.txt", "--content", "y", cwd=first)
    shutil.copytree(first, second)
    for told in (run("status", cwd=second).text, run("log", cwd=second).error, run("doctor", cwd=second).text):
        assert "a state that came with the folder, which is not used; the first change sets it aside" in told
    run("append", "a.txt", "--content", "z", cwd=second)
    refused = run("trust", "--root", str(second))
    assert (refused.code, f"filetools trust set-aside-2 --yes --root '{second}'" in refused.error) == (2, True)
    assert "These states were set aside: set-aside-1, set-aside-2." in refused.error
    assert run("trust", "set-aside-3", "--yes", cwd=second).code == 2
    accepted = run("trust", "set-aside-1", "--yes", "--json", cwd=second).json["data"]
    assert (accepted["accepted"], accepted["records"]) == ("set-aside-1", 1)
    assert sorted(each.name for each in (second / ".filetools/state").glob("set-aside-*")) == [
        "set-aside-2",
        "set-aside-3",
    ]
