"""Our reading of session logs against that of the library that their writer ships: equal, or different on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filetools.sessions.feedback import Conversation
from filetools.sessions.log import format_title, instant, read_entries
from filetools.sessions.log_folders import SessionInfo, encode_project_path, list_sessions, opened_logs
from tests.support.agent_logs import ENCODED, PROJECT, LogWriter, grown
from tests.support.dose import dose
from tests.support.hostile_repository import git
from tests.support.session_oracle import Oracle, is_missing, serving

if is_missing():
    pytest.skip("claude-agent-sdk is not installed; make oracle installs it", allow_module_level=True)

SEEDS = range(dose(20))
ID = "01234567-89ab-4cde-8f01-23456789abcd"
SECOND_ID = "01234567-89ab-4cde-8f01-23456789abce"


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    with serving() as started:
        yield started


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return tmp_path / "projects"


class Ours:
    """What we read of the logs of a project."""

    def __init__(self, logs: Path, project: str = PROJECT) -> None:
        self.logs, self.project = logs, project

    def sessions(self) -> dict[str, Any]:
        return {info.session_id: self._session(info) for info in list_sessions(self.project, logs=self.logs)}

    def left(self, session_id: str) -> set[str]:
        """Return the uuids of what was abandoned by rewinding."""
        tree = Conversation()
        with opened_logs(self.project, logs=self.logs) as opened:
            assert opened is not None
            for path in opened.sessions.get(session_id, ()):
                for entry in read_entries(opened.reads, path):
                    tree.add(entry)
        return tree.left()

    def agents(self, session_id: str) -> list[str]:
        with opened_logs(self.project, logs=self.logs) as opened:
            assert opened is not None
            return sorted(agent_id for agent_id, _ in opened.agents(session_id))

    def _session(self, info: SessionInfo) -> dict[str, Any]:
        seconds = instant(info.timestamp)
        return {
            "title": info.title, "git_branch": info.git_branch, "cwd": info.cwd, "tag": info.tag, "size": info.size,
            "created": None if seconds is None else round(seconds * 1000), "modified": info.modified,
        }  # fmt: skip


class Theirs:
    """What the oracle reads of them, in the same form."""

    def __init__(self, oracle: Oracle, logs: Path, project: str = PROJECT) -> None:
        self.ask, self.project = partial(oracle.ask, logs), project

    def sessions(self) -> dict[str, Any]:
        return {info["session_id"]: self._session(info) for info in self.ask("list_sessions", self.project)}

    def shown(self, session_id: str) -> set[str]:
        """Return the uuids of the messages that it shows."""
        return {message["uuid"] for message in self.ask("get_session_messages", session_id, self.project)}

    def agents(self, session_id: str) -> list[str]:
        return sorted(self.ask("list_subagents", session_id, self.project))

    def _session(self, info: dict[str, Any]) -> dict[str, Any]:
        # A prompt or a summary that stands in for a title is no title for us.
        title = info["custom_title"] or info["first_prompt"] or ""
        return {
            "title": format_title(title), "git_branch": info["git_branch"] or "", "cwd": info["cwd"],
            "tag": info["tag"] or "", "size": info["file_size"], "created": info["created_at"],
            "modified": pytest.approx(info["last_modified"] / 1000, abs=0.002),
        }  # fmt: skip


def without_known_differences(theirs: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """Return what the oracle reads of random sessions: untitled ones are none, and titles are of the first block only."""
    titled = {session_id: info for session_id, info in theirs.items() if info["title"]}
    for session_id, info in titled.items():
        whole = format_title(f"{info['title']} And this.")
        if session_id in ours and ours[session_id]["title"] == whole:
            info["title"] = whole
    return titled


@pytest.mark.parametrize("seed", SEEDS)
def test_sessions_are_those_of_the_oracle(oracle: Oracle, logs: Path, seed: int) -> None:
    grown(logs / ENCODED, seed)
    ours = Ours(logs).sessions()
    assert ours == without_known_differences(Theirs(oracle, logs).sessions(), ours)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_that_the_oracle_shows_was_left(oracle: Oracle, logs: Path, seed: int) -> None:
    ours, theirs = Ours(logs), Theirs(oracle, logs)
    for log in grown(logs / ENCODED, seed, turns=20):
        assert not ours.left(log.session_id) & theirs.shown(log.session_id)


@pytest.mark.parametrize("seed", SEEDS)
def test_agents_in_folders_are_those_of_the_oracle(oracle: Oracle, logs: Path, seed: int) -> None:
    ours, theirs = Ours(logs), Theirs(oracle, logs)
    for log in grown(logs / ENCODED, seed):
        expected = theirs.agents(log.session_id) if log.path.exists() else []
        assert ours.agents(log.session_id) == expected


@given(
    st.lists(st.text(st.characters(max_codepoint=0xFFFF, exclude_characters="/"), min_size=1, max_size=150), min_size=1)
)
def test_names_of_folders_are_those_of_the_oracle(oracle: Oracle, parts: list[str]) -> None:
    path = "".join(f"/{part}" for part in parts)
    theirs, ours = oracle.ask(Path("projects"), "_sanitize_path", path), encode_project_path(path)
    assert theirs == ours if len(ours) <= 200 else theirs.startswith(f"{ours[:200]}-")


def test_other_work_trees_are_those_of_the_oracle(oracle: Oracle, logs: Path, tmp_path: Path) -> None:
    first, second = (str((tmp_path / name).resolve()) for name in ("app", "app-fix"))
    git(tmp_path, "init", "-q", first)
    git(tmp_path / "app", "commit", "-q", "--allow-empty", "-m", "First")
    git(tmp_path / "app", "worktree", "add", "-q", second)
    for place, session_id in ((first, ID), (second, SECOND_ID)):
        writer = LogWriter(logs / encode_project_path(place), cwd=place)
        writer.session(session_id).user(f"What was said in {Path(place).name}")
    found = {info.title for info in list_sessions(first, logs=logs, worktrees=[second])}
    assert found == set(titles(Theirs(oracle, logs, first))) == {"What was said in app", "What was said in app-fix"}


def titles(reader: Ours | Theirs) -> list[str]:
    return sorted(info["title"] for info in reader.sessions().values())
