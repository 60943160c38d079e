"""Runs outside of a workspace: by their tool calls, against a baseline, or by times; and never a link followed."""

from __future__ import annotations

import hashlib
import logging
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from filetools import Actor
from filetools.errors import ChecksumCalculationError, FileMetadataError
from filetools.models.records import ChangeRecord, Operation, RecordState
from filetools.paths.workspace_path import WorkspacePath
from filetools.sessions import observed_run
from filetools.sessions.agent_messages import AgentMessages
from filetools.sessions.description import DiscoveredFile, Reading, read_file
from filetools.sessions.discovery import Discovery, RunScope, metadata
from filetools.sessions.observed_run import begin, discover
from filetools.stores.folder import FolderStore


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def start() -> datetime:
    return datetime.now(UTC)


def later() -> datetime:
    """Return a moment for which all that was made until now is old."""
    return datetime.now(UTC) + timedelta(hours=1)


def make(folder: Path, *names: str, text: str = "one") -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def called(name: str, call_id: str = "c", **given: Any) -> dict[str, Any]:
    return {"content": [{"type": "tool_use", "id": call_id, "name": name, "input": given}]}


def wrote(*paths: Any, name: str = "Write") -> list[dict[str, Any]]:
    return [called(name, f"c{number}", file_path=str(path)) for number, path in enumerate(paths)]


def actions(found: Discovery) -> dict[str, str]:
    return {file.path: file.action for file in found.files}


def reasons(found: Discovery) -> dict[str, str]:
    return {each["path"]: each["reason"] for each in found.skipped}


def version(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


# What is refused


def test_a_root_that_does_not_exist_is_refused(root: Path, start: datetime) -> None:
    with pytest.raises(ValueError, match=rf"\ARoot does not exist: {root}/x\Z"):
        discover([], root=f"{root}/x", started_at=start)


def test_a_root_that_is_a_file_is_refused(root: Path, start: datetime) -> None:
    make(root, "file")
    with pytest.raises(ValueError, match=rf"\ARoot is not a directory: {root}/file\Z"):
        begin(f"{root}/file")


def test_a_run_without_beginning_is_refused(root: Path) -> None:
    with pytest.raises(ValueError, match="started_at"):
        discover([], root=str(root), started_at=None)


def test_a_run_of_which_nothing_is_known_is_refused(root: Path, start: datetime) -> None:
    with pytest.raises(ValueError, match="messages"):
        discover(root=str(root), started_at=start)


@pytest.mark.parametrize("folder", ["../out", "/etc", "a/../.."])
def test_an_output_folder_outside_of_the_root_is_refused(root: Path, folder: str) -> None:
    with pytest.raises(ValueError, match=rf"\AOutput folder lies outside of the root: {folder}\Z"):
        begin(str(root), output_dirs=[folder])


@pytest.mark.parametrize("pattern", ["", "a|b"])
def test_a_malformed_pattern_is_refused_before_the_run(root: Path, start: datetime, pattern: str) -> None:
    with pytest.raises(ValueError, match="Exclude pattern"):
        begin(str(root), patterns=[pattern])
    with pytest.raises(ValueError, match="Exclude pattern"):
        discover([], root=str(root), started_at=start, patterns=[pattern])


def test_finish_never_raises(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    found = begin(str(root), run="run-1").finish(1 / zero for zero in [0])
    assert (found.files, found.error) == ((), "division by zero")
    assert [(record.getMessage(), record.exc_info is not None) for record in caplog.records] == [
        ("run run-1: its files could not be found", True)
    ]


# By records


def test_records_decide_alone(root: Path, start: datetime) -> None:
    make(root, "claudedocs/a.md")
    record = ChangeRecord(
        number=1, operation=Operation.CREATE, path="b.md", after="v1", size=1, time=1.0, state=RecordState.APPLIED,
        actor=Actor(kind="agent", id="a", session="s"),
    )  # fmt: skip
    found = discover(wrote("b.md"), None, [record], root=str(root), started_at=start, scope=RunScope(session="s"))
    assert (found.method, actions(found), found.files[0].tool) == ("event_journal", {"b.md": "created"}, "Write")


# By tool calls


def test_no_messages_are_a_run_without_files(root: Path, start: datetime) -> None:
    make(root, "claudedocs/a.md")
    assert discover([], root=str(root), started_at=start) == Discovery(method="sdk_parsing", calls=0, sdk_failures=0)


def test_a_file_is_told_whole(root: Path, start: datetime) -> None:
    make(root, "docs/a.md", text="# One\n")
    found = discover(wrote(root / "docs/a.md"), root=str(root), started_at=start)
    stat = (root / "docs/a.md").stat()
    [file] = found.files
    assert file == DiscoveredFile(
        path="docs/a.md", action="created", size=6, version=version("# One\n"), created=file.created,
        modified=stat.st_mtime_ns / 1e9, tool="Write", turn=1, mime_type="text/markdown",
    )  # fmt: skip
    assert file.created is not None
    assert abs(file.created - time.time()) < 3600
    assert found == Discovery(files=(file,), method="sdk_parsing", calls=1, sdk_failures=0)


@pytest.mark.parametrize(
    "messages",
    [
        wrote("missing.md"), wrote("pipe"), wrote("folder"), wrote("link.md"), wrote("linked/a.md"), wrote("/etc/passwd"),
        wrote("../x"), wrote("old.md"), [called("Write")], [called("Write", file_path=5)], wrote("a\0b"),
        wrote(".filetools/journal.db"), wrote("."),
    ],
)  # fmt: skip
def test_what_is_no_file_of_the_run_is_skipped_with_its_reason(root: Path, messages: list[Any]) -> None:
    make(root, "old.md", "real/a.md", ".filetools/journal.db")
    os.mkfifo(root / "pipe")
    (root / "folder").mkdir()
    (root / "link.md").symlink_to("old.md")
    (root / "linked").symlink_to("real")
    expected = {
        "missing.md": "missing", "pipe": "not_regular", "folder": "not_regular", "link.md": "symlink",
        "linked/a.md": "symlink", "/etc/passwd": "outside_root", "../x": "outside_root", "old.md": "unchanged",
        "": "wrong_argument", "a\0b": "wrong_argument", ".filetools/journal.db": "wrong_argument", ".": "wrong_argument",
    }  # fmt: skip
    found = discover(messages, root=str(root), started_at=later(), include_content=True)
    path = messages[0]["content"][0]["input"].get("file_path")
    named = path if isinstance(path, str) else ""
    assert (found.files, reasons(found)) == ((), {named: expected[named]})


def test_a_call_that_failed_does_not_count(root: Path, start: datetime) -> None:
    make(root, "a.md")
    failed = {"content": [{"type": "tool_result", "tool_use_id": "c0", "is_error": True}]}
    assert discover([*wrote("a.md"), failed], root=str(root), started_at=start).files == ()


def test_a_file_that_cannot_be_read_is_skipped_alone(
    root: Path, start: datetime, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(root, "a.md", "b.md", "c.md")

    def read(reads: FolderStore, path: WorkspacePath, **options: Any) -> Reading:
        return read_file(reads, WorkspacePath("gone") if path == "a.md" else path, **options)

    monkeypatch.setattr(observed_run, "read_file", read)

    def settle(*_: object) -> set[WorkspacePath]:
        (root / "c.md").unlink()
        return set()

    monkeypatch.setattr(observed_run, "settle", settle)
    found = discover(wrote("a.md", "b.md", "c.md"), root=str(root), started_at=start, run="run-1")
    assert (actions(found), reasons(found)) == ({"b.md": "created"}, {"a.md": "unreadable", "c.md": "unreadable"})
    logged = [record for record in caplog.records if record.getMessage() == "run run-1: a file cannot be described"]
    causes = [record.exc_info and record.exc_info[0] for record in logged]
    assert causes == [ChecksumCalculationError, FileMetadataError]


def test_one_file_under_several_spellings_is_told_once_in_the_order_of_first_mention(
    root: Path, start: datetime
) -> None:
    make(root, "b.md", "sub/a.md", text="final")
    (root.parent / "alias").symlink_to(root)
    messages = wrote("b.md", "sub/a.md", root / "b.md", "./sub/../b.md", root.parent / "alias/sub/a.md")
    messages.append({"cwd": str(root / "sub"), **called("Edit", "e", file_path="a.md")})
    for spelling in (root, root.parent / "alias"):
        found = discover(messages, root=str(spelling), started_at=start)
        expected = [("b.md", "created", "Write", version("final")), ("sub/a.md", "created", "Edit", version("final"))]
        if spelling == root:  # the other name is not known to be one of the root
            assert reasons(found) == {str(root.parent / "alias/sub/a.md"): "outside_root"}
        assert [(file.path, file.action, file.tool, file.version) for file in found.files] == expected


@pytest.mark.parametrize(
    ("name", "action"), [("Write", "created"), ("mcp__files__create_file", "created"), ("Edit", "modified")]
)
def test_the_tool_tells_whether_a_file_is_new(root: Path, start: datetime, name: str, action: str) -> None:
    make(root, "a.md")
    assert actions(discover(wrote("a.md", name=name), root=str(root), started_at=start)) == {"a.md": action}


def test_a_write_to_a_file_that_the_baseline_knows_modifies_it(root: Path) -> None:
    make(root, "claudedocs/a.md")
    run = begin(str(root))
    make(root, "claudedocs/a.md", text="other")
    assert actions(run.finish(wrote("claudedocs/a.md"))) == {"claudedocs/a.md": "modified"}


def test_renamed_and_deleted_files_are_followed(root: Path, start: datetime) -> None:
    make(root, "new.md")
    messages = [
        *wrote("old.md", "gone.md"),
        called("move_file", "m", source="old.md", destination="new.md"),
        called("delete_file", "d", path="gone.md"),
    ]
    found = discover(messages, root=str(root), started_at=start)
    assert actions(found) == {"old.md": "deleted", "gone.md": "deleted", "new.md": "created"}


def test_a_log_is_read_like_messages(root: Path, start: datetime) -> None:
    make(root, "a.md")
    line = b'{"type":"assistant","message":{"content":[{"type":"tool_use","id":"c","name":"Write","input":{"path":"a.md"}}]}}'
    found = discover(None, [line, b"odd"], root=str(root), started_at=start)
    assert (actions(found), found.sdk_failures) == ({"a.md": "created"}, 1)


def test_what_a_stream_remembered_is_taken_as_it_is(root: Path, start: datetime) -> None:
    make(root, "a.md")
    said = AgentMessages()
    said.read(wrote("a.md")[0])
    assert actions(discover(said, root=str(root), started_at=start)) == {"a.md": "created"}


def test_a_naive_time_is_local(root: Path) -> None:
    make(root, "a.md")
    started_at = datetime.now() - timedelta(minutes=1)  # that is the point
    assert actions(discover(wrote("a.md"), root=str(root), started_at=started_at)) == {"a.md": "created"}
    assert actions(discover(wrote("a.md"), root=str(root), started_at=started_at + timedelta(hours=1))) == {}


# By the output folders


def test_without_a_call_that_tells_of_a_file_the_folders_are_looked_into(
    root: Path, start: datetime, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    make(root, "claudedocs/a.md", "claudedocs/b.bin", "c.md")
    found = discover([{"content": "done"}], root=str(root), started_at=start, run="run-1")
    assert (found.method, actions(found), found.calls) == ("directory_scan", {"claudedocs/a.md": "created"}, 0)
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (logging.INFO, "run run-1: its tool calls tell of no file: now directory_scan")
    ]


def test_folders_that_are_not_there_are_a_failure_that_is_counted(
    root: Path, start: datetime, caplog: pytest.LogCaptureFixture
) -> None:
    found = discover([{"content": "done"}], root=str(root), started_at=start, output_dirs=["a", "b"], run="run-1")
    assert (found.files, found.scan_failures, found.error) == ((), 2, None)
    told = metadata(found, session="run-1", session_dir=str(root), root=str(root))
    assert (told["discovery_status"], told["discovery_details"]["directory_scan_failures"]) == ("no_files_found", 2)
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [(record.getMessage(), record.exc_info is not None) for record in errors] == [
        ("run run-1: its folders could not be scanned", True)
    ]


def test_if_every_source_fails_the_run_says_so(root: Path, start: datetime) -> None:
    found = discover([None], root=str(root), started_at=start)
    told = metadata(found, session="run-1", session_dir=str(root), root=str(root))
    assert (told["discovery_status"], told["error"]) == (
        "failed", "All 1 directories failed to scan. No files discovered. This is a critical failure.",
    )  # fmt: skip


def test_a_run_without_messages_is_told_by_its_baseline(root: Path) -> None:
    make(root, "claudedocs/old.md", "claudedocs/gone.md", "claudedocs/same.md", "other.md")
    run = begin(str(root))
    make(root, "claudedocs/old.md", "claudedocs/new.png", "new.md", text="other")
    (root / "claudedocs/gone.md").unlink()
    found = run.finish()
    assert (found.method, found.sdk_failures, found.scan_failures) == ("snapshot_diff", None, 0)
    assert actions(found) == {
        "claudedocs/gone.md": "deleted", "claudedocs/new.png": "created", "claudedocs/old.md": "modified",
    }  # fmt: skip


def test_what_calls_do_not_tell_the_baseline_adds(root: Path) -> None:
    run = begin(str(root))
    make(root, "src/a.py", "claudedocs/b.md", "claudedocs/c.md")
    found = run.finish(wrote("src/a.py", "claudedocs/c.md"))
    assert (found.method, [(file.path, file.tool) for file in found.files]) == (
        "sdk_parsing", [("src/a.py", "Write"), ("claudedocs/c.md", "Write"), ("claudedocs/b.md", None)],
    )  # fmt: skip


def test_a_run_that_makes_no_output_folder_has_not_failed(root: Path) -> None:
    found = begin(str(root)).finish([{"content": "done"}])
    assert found == Discovery(method="snapshot_diff", calls=0, sdk_failures=0, scan_failures=0)


def test_an_output_folder_can_bear_the_id_of_the_run(root: Path) -> None:
    run = begin(str(root), output_dirs=["out/{run}"], run="run-1")
    make(root, "out/run-1/a.md", "out/run-2/b.md")
    assert actions(run.finish()) == {"out/run-1/a.md": "created"}


def test_several_output_folders_and_patterns_can_be_given(root: Path) -> None:
    run = begin(str(root), output_dirs=["a", str(root / "b")], patterns=["*.csv", "b/*.md"])
    make(root, "a/x.csv", "a/y.md", "b/z.md", "c/x.csv")
    assert actions(run.finish()) == {"a/x.csv": "created", "b/z.md": "created"}


def test_a_root_that_went_meanwhile_does_not_spoil_the_answer(root: Path) -> None:
    run = begin(str(root))
    root.rmdir()
    assert run.finish().error == f"Root does not exist: {root}"


def test_a_file_that_is_still_written_is_told_as_not_settled(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(root, "claudedocs/a.md", "claudedocs/b.md")
    monkeypatch.setattr(observed_run, "settle", lambda _, paths: {paths[0]})
    run = begin(str(root))
    make(root, "claudedocs/a.md", "claudedocs/b.md", text="longer")
    assert [(file.path, file.settled) for file in run.finish().files] == [
        ("claudedocs/a.md", False), ("claudedocs/b.md", True),
    ]  # fmt: skip


# Content


def test_content_is_told_only_if_asked_for(root: Path, start: datetime) -> None:
    make(root, "a.md", text="é")
    plain, full = (
        discover(wrote("a.md"), root=str(root), started_at=start, include_content=is_asked).files[0]
        for is_asked in (False, True)
    )
    assert (plain.content, plain.is_content_omitted) == (None, False)
    assert (full.content, full.is_content_omitted) == ("é".encode(), False)


def test_content_over_a_limit_is_left_out(root: Path, start: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observed_run, "LARGEST_CONTENT_BYTES", 10)
    monkeypatch.setattr(observed_run, "MOST_CONTENT_BYTES", 15)
    make(root, "large", text="x" * 11)
    make(root, "a", "b", text="x" * 10)
    make(root, "c", text="x" * 5)
    make(root, "empty", text="")
    messages = wrote("large", "a", "b", "c", "empty")
    found = discover(messages, root=str(root), started_at=start, include_content=True).files
    told = {file.path: None if file.content is None else len(file.content) for file in found}
    assert told == {"large": None, "a": 10, "b": None, "c": 5, "empty": 0}
    assert [file.path for file in found if file.is_content_omitted] == ["large", "b"]
    assert all(file.version for file in found)


def test_the_signature_tells_what_the_name_does_not(root: Path, start: datetime) -> None:
    (root / "picture").write_bytes(b"\x89PNG\r\n\x1a\n")
    assert discover(wrote("picture"), root=str(root), started_at=start).files[0].mime_type == "image/png"
