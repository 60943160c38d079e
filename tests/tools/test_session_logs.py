"""Log sessions as doors ask for them: any spelling of a project, work trees, and the tool `get_recent_sessions`."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.errors import AccessDeniedError
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Actor
from filetools.project.recent import age
from filetools.sessions.log_folders import encode_project_path
from filetools.tools.handlers import context, session_logs
from tests.support.agent_logs import LogWriter
from tests.support.crashing import QUIET
from tests.support.hostile_repository import git
from tests.support.unprivileged import as_nobody


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of all logs, as the environment names it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "agents"))
    return tmp_path / "agents" / "projects"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A work tree with a commit and a folder."""
    (tmp_path / "app" / "src").mkdir(parents=True)
    (tmp_path / "app" / "src" / "a.py").touch()
    git(tmp_path / "app", "init", "-q")
    git(tmp_path / "app", "add", ".")
    git(tmp_path / "app", "commit", "-q", "-m", "first")
    return tmp_path / "app"


@pytest.fixture
async def files(tree: Path, logs: Path) -> AsyncIterator[FileToolsFacade]:
    async with filetools.open(tree, settings=QUIET) as opened:
        yield opened.for_actor(Actor(kind="agent", id="alice", session="s"))


def say(logs: Path, project: Path, text: str, *, ago: timedelta | None = None, **fields: Any) -> str:
    """Write the log of one session, and return its id."""
    writer = LogWriter(logs / encode_project_path(str(project)), seed=len(text), cwd=str(project))
    time = {} if ago is None else {"timestamp": (datetime.now(UTC) - ago).isoformat()}
    log = writer.session().user(text, **time, **fields)
    return log.session_id


def titles(found: list[session_logs.SessionInfo]) -> list[str]:
    return sorted(info.title for info in found)


async def test_a_folder_that_only_a_repository_of_strangers_calls_its_work_tree_is_not_told_of(
    files: FileToolsFacade, tree: Path, logs: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    git(secret, "init", "-q")
    say(logs, secret, "What nobody else should know")
    forged = tree / ".git" / "worktrees" / "forged"
    forged.mkdir(parents=True)
    for name, text in (("gitdir", f"{secret}/.git\n"), ("commondir", "../..\n"), ("HEAD", "ref: refs/heads/main\n")):
        (forged / name).write_text(text)
    assert session_logs.other_worktrees(str(tree)) == [str(secret)]
    assert await context.get_recent_sessions(files, path="") == {"sessions": []}


async def test_the_latest_sessions_are_told_with_title_and_age(
    files: FileToolsFacade, tree: Path, logs: Path, tmp_path: Path
) -> None:
    git(tree, "worktree", "add", "-q", "../fix")
    old = say(logs, tree, "An older question", ago=timedelta(days=3))
    new = say(logs, tmp_path / "fix", "What about the other work tree?", ago=timedelta(hours=2))
    timeless = say(logs, tree, "Said at no time", timestamp="once")
    (log,) = logs.glob(f"*/{timeless}.jsonl")
    os.utime(log, (0, 0))
    rows = [
        {"id": new, "title": "What about the other work tree?", "age": "2 hours ago"},
        {"id": old, "title": "An older question", "age": "3 days ago"},
        {"id": timeless, "title": "Said at no time", "age": age(time.time())},
    ]
    assert (await files.call_tool("get_recent_sessions", {"path": ""}))["data"] == {"sessions": rows}
    assert await context.get_recent_sessions(files, path="", limit=1) == {"sessions": rows[:1]}


def test_a_folder_of_logs_that_may_not_be_looked_into_is_named(logs: Path, tree: Path) -> None:
    say(logs, tree, "Something was said here")
    (folder,) = logs.iterdir()

    def look() -> None:
        folder.chmod(0)
        with pytest.raises(AccessDeniedError, match=f"^Permission denied: {folder} "):
            session_logs.list_sessions(tree, with_worktrees=False)
        logs.chmod(0)
        with pytest.raises(AccessDeniedError, match=f"^Permission denied: {logs}"):
            session_logs.list_sessions(tree, with_worktrees=False)

    session_logs.list_sessions(tree, with_worktrees=False)  # what it imports, others may not be able to read
    for place in (folder, logs.parent):
        os.chown(place, 65534, 65534)
    as_nobody(logs, look)


def test_a_project_may_be_spelled_in_any_way(logs: Path, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = say(logs, tree, "Something was said here")
    (tree.parent / "link").symlink_to(tree)
    monkeypatch.chdir(tree)
    for spelling in (".", "", "../app/", "../link", tree, f"{tree}//src/.."):
        assert titles(session_logs.list_sessions(spelling)) == ["Something was said here"]
    items = session_logs.extract_feedback(session, "../app")
    assert [item.content for item in items] == ["Something was said here"]
    assert [*session_logs.collect_feedback("../link")] == items


def test_a_project_that_is_gone_keeps_its_sessions(logs: Path, tmp_path: Path) -> None:
    say(logs, tmp_path / "gone", "Something was said here")
    assert titles(session_logs.list_sessions(tmp_path / "gone")) == ["Something was said here"]


def test_of_a_folder_in_a_work_tree_the_same_folder_in_the_others_counts(
    logs: Path, tree: Path, tmp_path: Path
) -> None:
    git(tree, "worktree", "add", "-q", "inner/fix")
    fix = tree / "inner" / "fix"
    for place in (tree, tree / "src", fix, fix / "src"):
        say(logs, place, f"Said in {place.relative_to(tmp_path)}")
    assert session_logs.other_worktrees(str(tree / "src")) == [str(fix / "src")]
    assert session_logs.other_worktrees(str(fix)) == [str(tree)]
    assert titles(session_logs.list_sessions(tree / "src")) == ["Said in app/inner/fix/src", "Said in app/src"]
    assert titles(session_logs.list_sessions(tree / "src", with_worktrees=False)) == ["Said in app/src"]
    assert [item.content for item in session_logs.collect_feedback(fix / "src", with_worktrees=False)] == [
        "Said in app/inner/fix/src"
    ]
