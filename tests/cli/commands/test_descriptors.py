"""`filetools fd`: long results of an agent, for the person who looks after it."""

from __future__ import annotations

import pytest

from tests.support.terminal import CommandLine

MANY = 300


@pytest.fixture
def kept(run: CommandLine) -> CommandLine:
    """A folder in which the agent alice has a listing as fd:1."""
    (run.folder / "many").mkdir()
    for number in range(MANY):
        (run.folder / "many" / f"a_file_with_a_rather_long_name_{number:03}.txt").touch()
    run("write", "x.txt", stdin=b"x\n")
    (run.folder / ".filetools" / "settings.toml").write_text("[file_descriptor]\nenabled = true\n")
    done = run("call", "list_files", '{"path": "many"}', "--actor", "alice")
    assert done.json["data"]["fd"] == "fd:1"
    return run


def test_an_unknown_descriptor_is_refused(kept: CommandLine) -> None:
    for command in (("read", "fd:9"), ("search", "fd:9", "x"), ("save", "fd:9", "out.txt")):
        done = kept("fd", *command, "--actor", "alice")
        assert (done.code, done.text) == (1, "")
        assert "FD_NOT_FOUND: File descriptor fd:9 not found. Available FDs: fd:1" in done.error
        assert "hint: 'filetools fd list' lists them; --actor selects the agent." in done.error
    assert kept("fd", "read", "fd:1").code == 1  # which is alice's, and nobody else's


def test_bad_places_are_refused(kept: CommandLine) -> None:
    done = kept("fd", "read", "fd:1", "--start", "99", "--actor", "alice")
    assert done.code != 0
    assert "Invalid page number" in done.error
    assert kept("fd", "read", "fd:1", "--mode", "word", "--actor", "alice").code == 2


def test_it_is_listed_read_searched_and_saved(kept: CommandLine) -> None:
    assert kept("fd", "list").lines == ["[0 descriptors]"]
    assert kept("fd", "list", "--actor", "alice").lines[0].startswith("fd:1  tool_result")
    whole = kept("fd", "read", "fd:1", "--actor", "alice").text
    assert len(whole.splitlines()) == MANY + 1
    (row, _) = kept("fd", "search", "fd:1", "name_123", "--actor", "alice").lines
    line = row.split(":")[0]
    read = kept("fd", "read", "fd:1", "--mode", "line", "--start", line, "--actor", "alice").text
    assert read == "many/a_file_with_a_rather_long_name_123.txt  0\n"
    pages = kept("fd", "read", "fd:1", "--count", "2", "--actor", "alice").text
    assert pages == kept("fd", "read", "fd:1", "--start", "1", "--count", "2", "--actor", "alice").text
    assert pages != whole
    assert kept("fd", "search", "fd:1", "nothing", "--actor", "alice").code == 1
    assert kept("fd", "save", "fd:1", "out.txt", "--actor", "alice").code == 0
    assert (kept.folder / "out.txt").read_text() == whole
    assert kept("fd", "save", "fd:1", "out.txt", "--new", "--actor", "alice").code == 1


def test_json_is_the_envelope(kept: CommandLine) -> None:
    done = kept("fd", "read", "fd:1", "--mode", "char", "--start", "0", "--count", "5", "--actor", "alice", "--json")
    assert done.json["data"]["content"] == "many/"
