from __future__ import annotations

import os
import shutil
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from filetools.errors import AccessDeniedError
from filetools.sessions.log_folders import encode_project_path, list_sessions, opened_logs
from tests.support.agent_logs import ENCODED, PROJECT, LogWriter
from tests.support.unprivileged import as_nobody

Warnings = Callable[[], list[str]]

ID = "01234567-89ab-4cde-8f01-23456789abcd"
LONG = "/home/me/" + "a" * 191
EMOJI = "/home/me/" + "🚀" * 100


def write(folder: Path, *, session_id: str = "", cwd: str = PROJECT, **fields: str | None) -> str:
    """Write a log of one entry and return its session's id."""
    log = LogWriter(folder, seed=len(list(folder.glob("*"))) if folder.exists() else 0, cwd=cwd).session(session_id)
    return log.user("What a person said", **fields).session_id


def ids(logs: Path, project: str = PROJECT, *, worktrees: Sequence[str] = ()) -> set[str]:
    return {info.session_id for info in list_sessions(project, logs=logs, worktrees=worktrees)}


def session_files(logs: Path, project: str = PROJECT) -> Mapping[str, Sequence[str]]:
    with opened_logs(project, logs=logs) as opened:
        return {} if opened is None else opened.sessions


# Names of folders


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/", "-"),
        ("/home/me/app/", "-home-me-app"),
        ("/home/me/my.app_v2-x y", "-home-me-my-app-v2-x-y"),
        ("/home/me/ünï数", "-home-me--n--"),
        ("/home/me/\udcff", "-home-me--"),
        (LONG, "-home-me-" + "a" * 191),
        ("/home/me/🚀", "-home-me---"),
    ],
)
def test_names_of_folders_are_those_that_the_writer_gives(path: str, name: str) -> None:
    assert encode_project_path(path) == name


@pytest.mark.parametrize("path", ["", "../app"])
def test_a_relative_path_has_no_folder(path: str, logs: Path) -> None:
    with pytest.raises(ValueError, match=r"^project_dir must be an absolute path$"):
        encode_project_path(path)
    with pytest.raises(ValueError, match=r"^project_dir must be an absolute path$"):
        list_sessions(path, logs=logs)
    with pytest.raises(ValueError, match=r"^project_dir must be an absolute path$"):
        list_sessions(PROJECT, logs=logs, worktrees=[path])


# Looking up a project


def test_a_project_without_logs_has_none_and_nothing_is_made(logs: Path, warnings: Warnings) -> None:
    write(logs / "-home-me-other", cwd="/home/me/other")
    assert ids(logs) == set()
    assert (os.listdir(logs), warnings()) == (["-home-me-other"], [])


@pytest.mark.parametrize(
    ("project", "folder"),
    [
        (PROJECT, ENCODED),
        ("/home/me/my.app", "-home-me-my.app"),
        ("/home/me/🚀", "-home-me---"),
        # What a JavaScript engine makes of `h = ((h << 5) - h + unit) | 0` and `Math.abs(h).toString(36)`:
        (LONG + "b", "-home-me-" + "a" * 191 + "-178n6x"),
        (EMOJI, "-home-me-" + "-" * 191 + "-8n51vm"),
        (LONG + "b", "-home-me-" + "a" * 191 + "-another7hash"),
    ],
)
def test_each_name_that_a_writer_may_have_given_is_looked_up(logs: Path, project: str, folder: str) -> None:
    assert ids(logs, project) == set()
    assert {write(logs / folder, cwd=project.rstrip("/"))} == ids(logs, project)


def test_a_folder_with_another_beginning_is_not_that_of_a_long_path(logs: Path) -> None:
    write(logs / ("-home-me-" + "a" * 190 + "c-178n6x"), cwd=LONG + "b")
    write(logs / ("-home-me-" + "a" * 191), cwd=LONG + "b")
    assert ids(logs, LONG + "b") == set()


def test_a_project_is_looked_up_by_its_real_path_in_nfc(tmp_path: Path, logs: Path) -> None:
    real = tmp_path / unicodedata.normalize("NFD", "Größe")
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    place = unicodedata.normalize("NFC", os.path.realpath(real))
    known = write(logs / encode_project_path(place), cwd=str(real))
    for spelled in (real, tmp_path / "link", tmp_path / "x" / ".." / "link"):
        assert ids(logs, str(spelled)) == {known}


def test_a_link_in_the_folder_of_logs_is_not_followed(tmp_path: Path, logs: Path) -> None:
    write(tmp_path / "elsewhere")
    logs.mkdir()
    (logs / ENCODED).symlink_to(tmp_path / "elsewhere")
    assert ids(logs) == set()


def test_by_default_the_logs_stand_where_the_writer_is_told_to_keep_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "configuration"))
    known = write(tmp_path / "configuration" / "projects" / ENCODED)
    assert [info.session_id for info in list_sessions(PROJECT)] == [known]


def test_else_they_stand_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    known = write(tmp_path / ".claude" / "projects" / ENCODED)
    assert [info.session_id for info in list_sessions(PROJECT)] == [known]


# Which logs are the project's


@pytest.mark.parametrize("cwd", [PROJECT, PROJECT + "/src/deep", PROJECT + "/e\u0301"])
def test_a_log_made_in_the_project_or_below_is_its_own(logs: Path, cwd: str) -> None:
    assert {write(logs / ENCODED, cwd=cwd)} == ids(logs)


def test_a_log_that_names_no_folder_is_its_own(logs: Path) -> None:
    assert {write(logs / ENCODED, cwd=None)} == ids(logs)  # type: ignore[arg-type]


@pytest.mark.parametrize("cwd", ["/home/me/code-app", "/home/me/code", "relative", "C:\\code\\app"])
def test_a_log_of_another_project_that_shares_the_folder_is_not(logs: Path, cwd: str) -> None:
    own = write(logs / ENCODED)
    write(logs / ENCODED, cwd=cwd)
    assert ids(logs) == {own}


def test_the_first_entry_that_names_a_folder_decides(logs: Path) -> None:
    writer = LogWriter(logs / ENCODED)
    own = writer.session().fact("summary", summary="none").user("Here", cwd=PROJECT).user("There", cwd="/else")
    writer.session().fact("summary", summary="none").user("There", cwd="/else").user("Here", cwd=PROJECT)
    assert ids(logs) == {own.session_id}


def test_logs_of_other_work_trees_count_if_they_are_named(logs: Path) -> None:
    main, other = write(logs / ENCODED), write(logs / "-home-me-trees-fix", cwd="/home/me/trees/fix", session_id=ID)
    assert ids(logs) == {main}
    assert ids(logs, worktrees=["/home/me/trees/fix", "/home/me/trees/gone"]) == {main, other}
    assert ids(logs, "/home/me/gone", worktrees=["/home/me/trees/fix"]) == {other}


# Which files are logs


def test_session_logs_are_those_with_the_name_of_an_id(logs: Path, warnings: Warnings) -> None:
    folder = logs / ENCODED
    write(folder, session_id=ID)
    others = [f"{ID}.json", f"x{ID}.jsonl", f"{ID.upper()}.jsonl", f"{ID}.jsonl\n", f"{ID}0.jsonl", f".{ID}.jsonl"]
    for name in others:
        shutil.copy(folder / f"{ID}.jsonl", folder / name)
    assert session_files(logs) == {ID: [f"{ENCODED}/{ID}.jsonl"]}
    assert (ids(logs), warnings()) == ({ID}, [])


ODD: dict[str, Callable[[Path], object]] = {
    "a FIFO": os.mkfifo,
    "a folder": os.mkdir,
    "a link to /etc": lambda path: os.symlink("/etc", path),
    "a link to a file": lambda path: os.symlink("/etc/passwd", path),
    "a link to nothing": lambda path: os.symlink("gone", path),
}


@pytest.mark.parametrize("name", ODD)
def test_what_is_no_file_costs_a_warning(logs: Path, warnings: Warnings, name: str) -> None:
    known = write(logs / ENCODED)
    ODD[name](logs / ENCODED / f"{ID}.jsonl")
    assert ids(logs) == {known}
    assert [each.partition(": skipped: ")[0] for each in warnings()] == [f"{ENCODED}/{ID}.jsonl"]


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")


@needs_root
def test_a_log_that_may_not_be_read_costs_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    logs = tmp_path / "mine" / "projects"
    known = write(logs / ENCODED)
    (logs / ENCODED / f"{ID}.jsonl").touch(mode=0)

    def look() -> None:
        assert ids(logs) == {known}
        assert len(caplog.records) == 1

    as_nobody(tmp_path / "mine", look)


@needs_root
def test_a_folder_that_may_not_be_looked_into_costs_the_others_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    logs, project = tmp_path / "mine" / "projects", "/home/me/my.app"
    known = write(logs / "-home-me-my-app", cwd=project)
    (logs / "-home-me-my.app").mkdir(mode=0)

    def look() -> None:
        assert ids(logs, project) == {known}
        assert [record.getMessage().partition(":")[0] for record in caplog.records] == ["-home-me-my.app"]

    as_nobody(tmp_path / "mine", look)


@needs_root
@pytest.mark.parametrize("closed", ["", ENCODED])
def test_if_no_logs_may_be_looked_at_that_is_an_error(tmp_path: Path, closed: str) -> None:
    logs = tmp_path / "mine" / "projects"
    write(logs / ENCODED)
    (logs / closed).chmod(0)

    def look() -> None:
        with pytest.raises(AccessDeniedError):
            ids(logs)

    as_nobody(tmp_path / "mine", look)
