"""Our reading of session logs against that of the library that their writer ships: equal, or different on purpose."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filetools.sessions.conversation import conversation
from filetools.sessions.log import LogEntry, extract_text, format_title, instant, read_entries
from filetools.sessions.log_folders import Agents, encode_project_path, opened_logs
from filetools.sessions.log_sessions import SessionInfo, list_sessions
from tests.support.agent_log_samples import ENCODED, FOLDER, SAMPLES
from tests.support.agent_logs import PROJECT, Log, LogWriter, grown, hostile_lines
from tests.support.session_oracle import Oracle, OracleFailedError, is_missing, serving

if is_missing():
    pytest.skip("claude-agent-sdk is not installed; make oracle installs it", allow_module_level=True)

SEEDS = range(60)
CALLS = ("t1", "t2", "t3", "t4", "t5")
MARKS = (("isSidechain", True), ("isMeta", True), ("teamName", "a team"), ("agentId", "a1"), ("timestamp", ""))
ID = "01234567-89ab-4cde-8f01-23456789abcd"
SECOND_ID = "01234567-89ab-4cde-8f01-23456789abce"

Messages = list[tuple[str, str]]
"""The uuid and the text of each message that is shown."""


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

    def messages(self, session_id: str) -> Messages:
        with opened_logs(self.project, logs=self.logs) as opened:
            assert opened is not None
            paths = opened.sessions.get(session_id, ())
            return [each for path in paths for each in shown(read_entries(opened.reads, path), is_agent=False)]

    def agents(self, session_id: str, *, beside: bool = True) -> dict[str, Any]:
        """Return call, parent and messages of each agent.

        Args:
            session_id: Of the session that they are below.
            beside: Whether those count whose logs stand beside those of sessions.
        """
        with opened_logs(self.project, logs=self.logs) as opened:
            assert opened is not None
            return {
                agent.agent_id: (
                    agent.tool_use_id,
                    agent.parent,
                    shown(read_entries(opened.reads, agent.path), is_agent=True),
                )
                for agent in Agents(opened).below(session_id)
                if beside or "subagents" in str(agent.path)
            }

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

    def messages(self, session_id: str) -> Messages:
        return self._messages(self.ask("get_session_messages", session_id, self.project))

    def agents(self, session_id: str) -> dict[str, Any]:
        return {each: self._agent(session_id, each) for each in self.ask("list_subagents", session_id, self.project)}

    def _agent(self, session_id: str, agent_id: str) -> Any:
        messages = self.ask("get_subagent_messages", session_id, agent_id, self.project)
        origin = messages[0]
        return origin["parent_tool_use_id"], origin["parent_agent_id"] or session_id, self._messages(messages)

    def _messages(self, messages: Any) -> Messages:
        return [(message["uuid"], extract_text(message["message"]["content"])) for message in messages]

    def _session(self, info: dict[str, Any]) -> dict[str, Any]:
        # A prompt or a summary that stands in for a title is no title for us.
        title = info["custom_title"] or info["first_prompt"] or ""
        return {
            "title": format_title(title), "git_branch": info["git_branch"] or "", "cwd": info["cwd"],
            "tag": info["tag"] or "", "size": info["file_size"], "created": info["created_at"],
            "modified": pytest.approx(info["last_modified"] / 1000, abs=0.002),
        }  # fmt: skip


def shown(entries: Iterator[LogEntry], *, is_agent: bool) -> Messages:
    """Return the messages of a log that the oracle shows."""
    spoken = (entry for entry in conversation(entries) if entry.type in ("user", "assistant"))
    return [
        (entry.uuid, extract_text(entry.content))
        for entry in spoken
        if is_agent or not (entry.is_meta or entry.is_sidechain or entry.raw.get("teamName"))
    ]


def without_known_differences(theirs: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """Return what the oracle reads of random sessions, with what `DIFFERENCES` tells of summaries and blocks put right."""
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
def test_conversations_are_those_of_the_oracle(oracle: Oracle, logs: Path, seed: int) -> None:
    ours, theirs = Ours(logs), Theirs(oracle, logs)
    for log in grown(logs / ENCODED, seed, turns=20):
        assert ours.messages(log.session_id) == theirs.messages(log.session_id)


@pytest.mark.parametrize("seed", SEEDS)
def test_agents_in_folders_are_those_of_the_oracle(oracle: Oracle, logs: Path, seed: int) -> None:
    ours, theirs = Ours(logs), Theirs(oracle, logs)
    for log in grown(logs / ENCODED, seed):
        expected = theirs.agents(log.session_id) if log.path.exists() else {}
        assert ours.agents(log.session_id, beside=False) == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_conversations_of_tangled_trees_are_those_of_the_oracle(oracle: Oracle, logs: Path, seed: int) -> None:
    ours, theirs, writer = Ours(logs), Theirs(oracle, logs), LogWriter(logs / ENCODED, seed=seed)
    for log in [tangle(writer) for _ in range(10)]:
        assert ours.messages(log.session_id) == theirs.messages(log.session_id)


def tangle(writer: LogWriter) -> Log:
    """Write a log whose entries name parents, answers, calls and writers at random."""
    log, chance, uuids = writer.session(), writer.random, ["gone"]
    for _ in range(chance.randint(1, 25)):
        log.leaf = chance.choice([None, *uuids[-6:]])
        kind = chance.choice(("user", "assistant", "user", "assistant", "system", "progress"))
        count = chance.choice((0, 1, 1, 2)) if kind in ("user", "assistant") else 0
        calls = [chance.choice(CALLS) for _ in range(count)]
        block = {"type": "tool_use", "id": ""} if kind == "assistant" else {"type": "tool_result", "tool_use_id": ""}
        blocks = [{key: value or call for key, value in block.items()} for call in calls]
        marks: dict[str, Any] = {key: value for key, value in MARKS if chance.random() < 0.05}
        source = {"sourceToolAssistantUUID": chance.choice(uuids)} if calls and chance.random() < 0.5 else {}
        message = {"id": chance.choice(("", "m1", "m2", "m3")), "content": [*blocks, {"type": "text", "text": kind}]}
        log.entry(kind, message=message, **marks, **source)
        uuids.append(log.leaf or "")
    return log


@pytest.mark.parametrize("name", [name for name in SAMPLES if name != "hostile"])
def test_samples_are_read_as_the_oracle_reads_them(oracle: Oracle, logs: Path, name: str) -> None:
    shutil.copytree(FOLDER / name, logs)
    ours, theirs = Ours(logs), Theirs(oracle, logs)
    assert ours.sessions() == theirs.sessions()
    for session_id in ours.sessions():
        assert ours.messages(session_id) == theirs.messages(session_id)
        assert ours.agents(session_id, beside=False) == theirs.agents(session_id)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", hostile_lines())
def test_a_hostile_line_changes_nothing_of_the_conversation(oracle: Oracle, logs: Path, name: str, seed: int) -> None:
    log = LogWriter(logs / ENCODED, seed=seed).session().user("The first sentence").parallel(3).assistant("Read.")
    log.user("An old branch").assistant("Done.").rewind().user("The last sentence").assistant("Good.")
    expected = Theirs(oracle, logs).messages(log.session_id)
    lines = log.path.read_bytes().split(b"\n")
    lines.insert(random.Random(seed).randrange(len(lines)), hostile_lines()[name])
    log.path.write_bytes(b"\n".join(lines))
    assert Ours(logs).messages(log.session_id) == expected != []


@given(
    st.lists(st.text(st.characters(max_codepoint=0xFFFF, exclude_characters="/"), min_size=1, max_size=150), min_size=1)
)
def test_names_of_folders_are_those_of_the_oracle(oracle: Oracle, parts: list[str]) -> None:
    path = "".join(f"/{part}" for part in parts)
    assert encode_project_path(path) == oracle.ask(Path("projects"), "_sanitize_path", path)


def test_other_work_trees_are_those_of_the_oracle(oracle: Oracle, logs: Path, tmp_path: Path) -> None:
    first, second = (str((tmp_path / name).resolve()) for name in ("app", "app-fix"))
    git("init", "-q", first)
    git("-C", first, "commit", "-q", "--allow-empty", "-m", "First")
    git("-C", first, "worktree", "add", "-q", second)
    for place, session_id in ((first, ID), (second, SECOND_ID)):
        writer = LogWriter(logs / encode_project_path(place), cwd=place)
        writer.session(session_id).user(f"What was said in {Path(place).name}")
    found = {info.title for info in list_sessions(first, logs=logs, worktrees=[second])}
    assert found == set(titles(Theirs(oracle, logs, first))) == {"What was said in app", "What was said in app-fix"}


def git(*arguments: str) -> None:
    """Run git without anybody's configuration."""
    nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ("git", "-c", "user.name=me", "-c", "user.email=me@example.org", *arguments)
    subprocess.run(command, env={**os.environ, **nobody}, check=True, capture_output=True)


def test_the_oracle_puts_parallel_results_back(oracle: Oracle, logs: Path) -> None:
    log = LogWriter(logs / ENCODED).session().user("Read all").parallel(4).assistant("Read.")
    assert len(Theirs(oracle, logs).messages(log.session_id)) == 1 + 4 + 4 + 1


def test_the_oracle_leaves_out_what_was_rewound(oracle: Oracle, logs: Path) -> None:
    log = LogWriter(logs / ENCODED).session().user("First").assistant("One.").user("Old").assistant("Two.")
    log.rewind().user("New").assistant("Three.")
    assert texts(Theirs(oracle, logs).messages(log.session_id)) == ["First", "One.", "New", "Three."]


def test_the_oracle_begins_with_the_summary(oracle: Oracle, logs: Path) -> None:
    log = LogWriter(logs / ENCODED).session().user("Before").assistant("Yes.").compact("In short").user("After")
    assert texts(Theirs(oracle, logs).messages(log.session_id)) == ["In short", "After"]


def texts(messages: Messages) -> list[str]:
    return [text for _, text in messages]


def titles(reader: Ours | Theirs) -> list[str]:
    return sorted(info["title"] for info in reader.sessions().values())


def branches(reader: Ours | Theirs) -> list[str]:
    return sorted(info["git_branch"] for info in reader.sessions().values())


def said(reader: Ours | Theirs) -> list[str]:
    return texts(reader.messages(ID))


def agents(reader: Ours | Theirs) -> list[str]:
    return sorted(reader.agents(ID))


def said_by_agents(reader: Ours | Theirs) -> list[str]:
    return [text for *_, messages in reader.agents(ID).values() for text in texts(messages)]


@dataclass(frozen=True, kw_only=True)
class Difference:
    reason: str
    write: Callable[[LogWriter], object]
    ask: Callable[[Ours | Theirs], list[str]]
    ours: list[str]
    theirs: list[str] | str
    """What it answers, or the error that it raises."""
    folder: str = ENCODED
    project: str = PROJECT


def late_prompt(writer: LogWriter) -> None:
    log = writer.session(ID)
    for _ in range(40):
        log.entry("system", content="x" * 2000)
    log.user("The prompt behind much else")


def foreign_log(writer: LogWriter) -> None:
    writer.session(ID).user("The prompt of this project")
    writer.cwd = "/home/me/code-app"
    writer.session(SECOND_ID).user("The prompt of another project")


def without_session(writer: LogWriter) -> None:
    log = writer.session(ID).user("Look at it")
    log.agent("Look at all", agentId="a1")
    log.path.unlink()


def parallel_agent(writer: LogWriter) -> None:
    writer.session(ID).user("Look at it").agent("Look at all").parallel(2).assistant("Both read.")


def loop(writer: LogWriter) -> None:
    log = writer.session(ID)
    log.entry("user", uuid="a", parentUuid="b", message={"content": "The first half"})
    log.entry("user", uuid="b", parentUuid="a", message={"content": "The other half"})


def between(line: bytes, writer: LogWriter) -> None:
    writer.session(ID).user("The first sentence").line(line).user("The last sentence")


BOTH = ["The first sentence", "The last sentence"]
DIFFERENCES = {
    "a title in the input of a tool": Difference(
        reason="It looks for the key anywhere in the text of the log; we, in entries.",
        write=lambda writer: writer.session(ID).user("Set the title of this").assistant(("Edit", {"customTitle": "Not ours"})),
        ask=titles, ours=["Set the title of this"], theirs=["Not ours"],
    ),
    "a branch in the input of a tool": Difference(
        reason="As with titles.",
        write=lambda writer: writer.session(ID).user("Make a branch").assistant(("Git", {"gitBranch": "other"})),
        ask=branches, ours=["main"], theirs=["other"],
    ),
    "a log that begins with an agent's entry": Difference(
        reason="Older versions wrote agents into the log of their session; it takes such a log for an agent's.",
        write=lambda writer: writer.session(ID).user("Warmup", isSidechain=True).user("What a person said"),
        ask=titles, ours=["What a person said"], theirs=[],
    ),
    "nothing but a summary": Difference(
        reason="Such a log continues nothing and holds nothing that was said.",
        write=lambda writer: writer.session(ID).fact("summary", summary="An older session", leafUuid="x"),
        ask=titles, ours=[], theirs=[""],
    ),
    "several blocks": Difference(
        reason="It takes the first block of text, we take all.",
        write=lambda writer: writer.session(ID).user([{"type": "text", "text": each} for each in ("One part", "Another")]),
        ask=titles, ours=["One part Another"], theirs=["One part"],
    ),
    "a trivial prompt": Difference(
        reason="What says nothing is no title, unless nothing else was said.",
        write=lambda writer: writer.session(ID).user("continue").user("What a person said"),
        ask=titles, ours=["What a person said"], theirs=["continue"],
    ),
    "noise": Difference(
        reason="So is what programs put in.",
        write=lambda writer: writer.session(ID).user("Caveat: not by a person").user("What a person said"),
        ask=titles, ours=["What a person said"], theirs=["Caveat: not by a person"],
    ),
    "a prompt behind 64 KiB": Difference(
        reason="We go on to 1 MiB where no user's entry was met.",
        write=late_prompt, ask=titles, ours=["The prompt behind much else"], theirs=[],
    ),
    "half a pair in a title": Difference(
        reason="It is no text that can be written as UTF-8.",
        write=lambda writer: writer.session(ID).user("Cut here \ud83d"), ask=titles, ours=["Cut here \ufffd"],
        theirs=["Cut here \ud83d"],
    ),
    "an id in capitals": Difference(
        reason="The writer makes none: a copy, which would count twice.",
        write=lambda writer: writer.session(ID.upper()).user("A copy of a session"),
        ask=titles, ours=[], theirs=["A copy of a session"],
    ),
    "two projects in one folder": Difference(
        reason="The name of the folder is ambiguous; the working folder in the log is not.",
        write=foreign_log, ask=titles, ours=["The prompt of this project"],
        theirs=["The prompt of another project", "The prompt of this project"],
    ),
    "a folder of an older version": Difference(
        reason="The oldest versions replaced nothing but slashes.",
        write=lambda writer: writer.session(ID).user("Said long ago"), ask=titles, ours=["Said long ago"], theirs=[],
        folder="-home-me-my.app", project="/home/me/my.app",
    ),
    "a surrogate pair in the path": Difference(
        reason="The writer counts UTF-16 units, this library code points; we try both.",
        write=lambda writer: writer.session(ID).user("Said under an emoji"), ask=titles, ours=["Said under an emoji"],
        theirs=[], folder="-home-me---", project="/home/me/🚀",
    ),
    "no UTF-8": Difference(
        reason="One bad byte loses no entry.",
        write=partial(between, hostile_lines()["bad UTF-8"]), ask=said, ours=BOTH, theirs="UnicodeDecodeError",
    ),
    "a deep line": Difference(
        reason="It loses only itself.",
        write=partial(between, hostile_lines()["deep"]), ask=said, ours=BOTH, theirs="RecursionError",
    ),
    "a type that is no text": Difference(
        reason="It is an unknown type.",
        write=partial(between, hostile_lines()["type of another type"]), ask=said, ours=BOTH, theirs="TypeError",
    ),
    "a mark that is a text": Difference(
        reason="Only `true` marks an entry.",
        write=lambda writer: writer.session(ID).user("Is it meta?", isMeta="false").user("The last sentence"),
        ask=said, ours=["Is it meta?", "The last sentence"], theirs=["The last sentence"],
    ),
    "a BOM": Difference(
        reason="Some editors put it in when they save.",
        write=lambda writer: writer.session(ID).line(b"\xef\xbb\xbf", end=b"").user(BOTH[0]).user(BOTH[1]),
        ask=said, ours=BOTH, theirs=BOTH[1:],
    ),
    "an unknown type on the way": Difference(
        reason="A type of a later version does not end the conversation.",
        write=lambda writer: writer.session(ID).user(BOTH[0]).entry("some-new-kind").user(BOTH[1]),
        ask=said, ours=BOTH, theirs=BOTH[1:],
    ),
    "a cycle": Difference(
        reason="It finds no end there; we take the newest.",
        write=loop, ask=said, ours=["The first half", "The other half"], theirs=[],
    ),
    "agents beside their session": Difference(
        reason="It knows only the folders of newer versions.",
        write=lambda writer: writer.session(ID).user("Look at it").agent("Look", layout="flat", agentId="a1").done("Seen."),
        ask=agents, ours=["a1"], theirs=[],
    ),
    "agents without their session": Difference(
        reason="What was said to them is there.", write=without_session, ask=agents, ours=["a1"], theirs=[],
    ),
    "parallel calls of an agent": Difference(
        reason="It puts results back in sessions only.",
        write=parallel_agent, ask=lambda reader: [str(len(said_by_agents(reader)))], ours=["6"], theirs=["4"],
    ),
}  # fmt: skip
"""What we read otherwise than the oracle, each with its reason: nothing else may differ."""


@pytest.mark.parametrize("name", DIFFERENCES)
def test_we_differ_from_the_oracle_just_so(oracle: Oracle, logs: Path, name: str) -> None:
    known = DIFFERENCES[name]
    known.write(LogWriter(logs / known.folder, cwd=known.project))
    assert known.ask(Ours(logs, known.project)) == known.ours
    assert answer(known, Theirs(oracle, logs, known.project)) == known.theirs


def answer(known: Difference, theirs: Theirs) -> list[str] | str:
    try:
        return known.ask(theirs)
    except OracleFailedError as error:
        return str(error)
