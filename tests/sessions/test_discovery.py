"""What a run did, as the records of the journal tell; and the metadata that says so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import filetools
from filetools import Actor
from filetools.models.records import EXTERNAL, ChangeRecord, Operation, RecordState
from filetools.sessions.agent_messages import LoggedCall
from filetools.sessions.discovery import (
    KEY,
    DiscoveredFile,
    Discovery,
    RunScope,
    State,
    attach,
    from_records,
    is_enabled,
    metadata,
    sse,
)

RUN = Actor(kind="agent", id="a", session="run-1")
OTHER = Actor(kind="agent", id="b", session="run-2")
PERSON = Actor(kind="editor", id="p", session="window")
SCOPE = RunScope(session="run-1", outputs=("claudedocs",), others=(("notes",),), roots=("/root", "/real/root"))


class Records:
    """Makes records one second apart."""

    def __init__(self, actor: Actor = RUN) -> None:
        self.actor = actor
        self.made: list[ChangeRecord] = []

    def add(self, operation: Operation, path: str, **facts: Any) -> ChangeRecord:
        number = len(self.made) + 1
        given: dict[str, Any] = {"actor": self.actor, "state": RecordState.APPLIED, "time": float(number), **facts}
        self.made.append(ChangeRecord(number=number, operation=operation, path=path, **given))
        return self.made[-1]

    def create(self, path: str, version: str = "v1", **facts: Any) -> None:
        self.add(Operation.CREATE, path, after=version, size=len(version), **facts)

    def modify(self, path: str, before: str, after: str, **facts: Any) -> None:
        self.add(Operation.MODIFY, path, before=before, after=after, size=len(after), **facts)

    def delete(self, path: str, before: str | None = "v1", **facts: Any) -> None:
        self.add(Operation.DELETE, path, before=before, **facts)

    def move(self, old: str, path: str, version: str = "v1", **facts: Any) -> None:
        self.add(Operation.MOVE, path, old_path=old, before=version, after=version, size=len(version), **facts)

    def found(self, scope: RunScope = SCOPE, **options: Any) -> dict[str, str]:
        return {file.path: file.action for file in from_records(self.made, scope, **options).files}


@pytest.fixture
def records() -> Records:
    return Records()


def call(path: str, *, name: str = "Write", is_error: bool = False, cwd: str = "", turn: int | None = 3) -> LoggedCall:
    return LoggedCall(name=name, id="c", path=path, cwd=cwd, is_error=is_error, turn=turn)


# The net effect


@pytest.mark.parametrize("state", [RecordState.PENDING, RecordState.ABORTED, RecordState.BUFFER])
def test_a_record_that_is_not_applied_says_nothing(records: Records, state: RecordState) -> None:
    records.create("a.md", state=state)
    assert records.found() == {}


@pytest.mark.parametrize("actor", [OTHER, PERSON])
def test_what_others_do_is_not_the_runs(records: Records, actor: Actor) -> None:
    records.create("claudedocs/a.md", actor=actor)
    assert from_records(records.made, SCOPE) == Discovery()


@pytest.mark.parametrize(
    "operation",
    [Operation.FOUND, Operation.LINK, Operation.CREATE_DIRECTORY, Operation.MODIFY_DIRECTORY],
)
def test_links_folders_and_files_that_were_found_are_no_files_of_the_run(
    records: Records, operation: Operation
) -> None:
    records.add(operation, "claudedocs", after="v1")
    assert records.found() == {}


def test_a_created_file_is_told_whole(records: Records) -> None:
    records.create("claudedocs/a.md", "v1")
    records.modify("claudedocs/a.md", "v1", "v22")
    assert from_records(records.made, SCOPE).files == (
        DiscoveredFile(path="claudedocs/a.md", action="created", size=3, version="v22", created=1.0, modified=2.0),
    )


# Changes of other programs


@pytest.fixture
def foreign() -> Records:
    return Records(EXTERNAL)


def test_what_nobody_can_attribute_is_left_out_and_counted(foreign: Records) -> None:
    foreign.create("src/a.py")
    foreign.create("claudedocs/a.md")
    found = from_records(foreign.made, RunScope(session="run-1", outputs=("claudedocs",), others=(("claudedocs",),)))
    assert found == Discovery(unattributed=2)


@pytest.mark.parametrize(
    ("outputs", "others", "is_runs"),
    [
        (("claudedocs",), (("notes",),), True),
        (("claudedocs/sub",), (("notes",),), False),
        (("claude",), (("notes",),), False),
        (("claudedocs",), (("claudedocs",),), False),
        (("claudedocs",), (("claudedocs/a.md",),), False),
    ],
)
def test_a_change_in_an_output_folder_that_no_other_run_shares_is_the_runs(
    foreign: Records, outputs: tuple[str, ...], others: tuple[tuple[str, ...], ...], is_runs: bool
) -> None:
    foreign.create("claudedocs/a.md")
    found = from_records(foreign.made, RunScope(session="run-1", outputs=outputs, others=others))
    assert [file.attributed for file in found.files] == (["folder"] if is_runs else [])
    assert (found.unattributed, found.foreign) == ((0, (1,)) if is_runs else (1, ()))


def test_a_file_that_leaves_the_output_folder_is_not_attributed_by_its_folder(foreign: Records) -> None:
    foreign.move("src/a.md", "claudedocs/a.md")
    assert from_records(foreign.made, SCOPE) == Discovery(unattributed=1)


@pytest.mark.parametrize(
    "named",
    [
        call("src/a.py"), call("/root/src/a.py"), call("/real/root/src/../src/a.py"), call("a.py", cwd="/root/src"),
        call("src/a.py", name="Edit"),
    ],
)  # fmt: skip
def test_a_change_that_a_call_names_is_the_runs(foreign: Records, named: LoggedCall) -> None:
    foreign.create("src/a.py")
    assert from_records(foreign.made, SCOPE, [named]).files == (
        DiscoveredFile(
            path="src/a.py", action="created", size=2, version="v1", created=1.0, modified=1.0, attributed="call",
            tool=named.name, turn=3,
        ),
    )  # fmt: skip


@pytest.mark.parametrize(
    "named",
    [
        call("src/a.py", is_error=True), call("src/a.py", name="Read"), call("/elsewhere/src/a.py"), call("src"),
        call("src/a.py", cwd="/root/x"),
    ],
)  # fmt: skip
def test_a_call_that_failed_or_only_reads_or_names_another_file_attributes_nothing(
    foreign: Records, named: LoggedCall
) -> None:
    foreign.create("src/a.py")
    assert (from_records(foreign.made, SCOPE, [named]).files, from_records(foreign.made, SCOPE).unattributed) == ((), 1)


def test_where_no_other_run_was_alive_every_change_is_the_runs(foreign: Records) -> None:
    foreign.create("src/a.py")
    foreign.add(Operation.CREATE_DIRECTORY, "src/empty")
    found = from_records(foreign.made, RunScope(session="run-1", outputs=("claudedocs",)))
    assert [(file.path, file.attributed) for file in found.files] == [("src/a.py", "alone")]
    assert (found.unattributed, found.foreign) == (0, (1, 2))


def test_tool_and_turn_come_from_the_last_call_that_names_a_file(records: Records) -> None:
    records.create("a.md")
    calls = [call("a.md", turn=1), call("a.md", name="Edit", turn=2), call("a.md", is_error=True, turn=4)]
    assert [(file.tool, file.turn) for file in from_records(records.made, SCOPE, calls).files] == [("Edit", 2)]


def test_without_a_call_the_turn_is_the_one_that_had_begun(records: Records) -> None:
    for path in ("a.md", "b.md", "c.md"):
        records.create(path)
    found = from_records(records.made, SCOPE, turns=(1.5, 2.5)).files
    assert [(file.tool, file.turn) for file in found] == [(None, None), (None, 1), (None, 2)]


# A simple model, and a real workspace

PATHS = ("a", "d/a", "d/b", "d/e/a", "dx", "f/a", "f/e/b")
FOLDERS = ("d", "d/e", "f", "f/e", "g", "d/g")
ACTORS = (RUN, OTHER, PERSON, EXTERNAL)
STEPS = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(PATHS), st.sampled_from("xyz")),
    st.tuples(st.just("delete"), st.sampled_from(PATHS), st.just("")),
    st.tuples(st.just("move"), st.sampled_from(PATHS), st.sampled_from(PATHS)),
    st.tuples(st.just("move_folder"), st.sampled_from(FOLDERS), st.sampled_from(FOLDERS)),
    st.tuples(st.just("delete_folder"), st.sampled_from(FOLDERS), st.just("")),
)


class Model:
    """A tree of texts that several actors change, each change with the record that the journal would keep."""

    def __init__(self, tree: Mapping[str, str]) -> None:
        self.tree = dict(tree)
        self.records = Records()
        self.first: dict[str, str | None] = {}
        self.last: dict[str, str | None] = {}

    def act(self, actor: Actor, kind: str, path: str, other: str) -> None:
        tree = dict(self.tree)
        getattr(self, kind)(path, other, actor=actor)
        if actor in (RUN, EXTERNAL):
            for each in tree.keys() | self.tree.keys():
                if tree.get(each) != self.tree.get(each):
                    self.first.setdefault(each, tree.get(each))
                    self.last[each] = self.tree.get(each)

    def write(self, path: str, text: str, **facts: Any) -> None:
        before = self.tree.get(path)
        if before is None:
            self.records.create(path, text, **facts)
        elif before != text:
            self.records.modify(path, before, text, **facts)
        self.tree[path] = text

    def delete(self, path: str, _: str, **facts: Any) -> None:
        if path in self.tree:
            self.records.delete(path, self.tree.pop(path), **facts)

    def move(self, path: str, other: str, **facts: Any) -> None:
        if path in self.tree and path != other:
            if other in self.tree:
                self.delete(other, "", **facts)
            self.records.move(path, other, self.tree[path], **facts)
            self.tree[other] = self.tree.pop(path)

    def move_folder(self, folder: str, other: str, **facts: Any) -> None:
        if self.below(folder) and not self.below(other) and not other.startswith(f"{folder}/"):
            self.records.add(Operation.MOVE_DIRECTORY, other, old_path=folder, **facts)
            for path in self.below(folder):
                self.tree[other + path[len(folder) :]] = self.tree.pop(path)

    def delete_folder(self, folder: str, _: str, **facts: Any) -> None:
        self.records.add(Operation.DELETE_DIRECTORY, folder, **facts)
        for path in self.below(folder):
            del self.tree[path]

    def below(self, folder: str) -> list[str]:
        return [path for path in self.tree if path.startswith(f"{folder}/")]

    def effect(self) -> dict[str, tuple[str, str | None]]:
        found: dict[str, tuple[str, str | None]] = {}
        for path, before in self.first.items():
            after = self.last[path]
            if before != after:
                found[path] = ("created" if before is None else "modified" if after else "deleted", after)
        return found


@given(
    st.dictionaries(st.sampled_from(PATHS), st.sampled_from("xyz")),
    st.lists(st.tuples(st.sampled_from(ACTORS), STEPS), max_size=25),
)
def test_the_net_effect_is_that_of_a_simple_model(
    tree: dict[str, str], steps: list[tuple[Actor, tuple[str, str, str]]]
) -> None:
    model = Model(tree)
    for actor, step in steps:
        model.act(actor, *step)
    before: dict[str, State] = {path: (text, len(text)) for path, text in tree.items()}
    found = from_records(model.records.made, RunScope(session="run-1"), before=before).files
    assert {file.path: (file.action, file.version) for file in found} == model.effect()
    assert all(file.size == (None if file.version is None else len(file.version)) for file in found)


async def test_the_records_of_a_real_workspace_tell_what_a_run_did(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for name in ("kept/old.md", "gone/old.md", "person.md"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    async with filetools.open(root) as files:
        start, run, person = await files.position(), files.for_actor(RUN), files.for_actor(PERSON)
        await run.write_file("claudedocs/report.md", "# One\n")
        written = await run.write_file("claudedocs/report.md", "# Two\n")
        await run.write_file("scratch.txt", "x")
        await run.delete_file("scratch.txt")
        await run.move_file("kept", "moved")
        await run.delete_directory("gone", recursive=True)
        await person.write_file("person.md", "by a person")
        await run.write_file("again.md", "x")
        await run.undo()
        (root / "claudedocs" / "shell.json").write_text("{}")
        await files.look()
        records = (await files.changes(start)).records
    before: dict[str, State] = {"kept/old.md": ("sha256:k", 11), "gone/old.md": ("sha256:g", 11)}
    found = from_records(records, SCOPE, before=before)
    assert [(file.path, file.action, file.size, file.attributed) for file in found.files] == [
        ("claudedocs/report.md", "created", 6, None),
        ("kept/old.md", "deleted", None, None),
        ("moved/old.md", "created", 11, None),
        ("gone/old.md", "deleted", None, None),
        ("claudedocs/shell.json", "created", 2, "folder"),
    ]
    assert found.files[0].version == written.version


def test_a_file_that_a_call_writes_again_with_the_same_bytes_is_named_unless_it_is_not_there() -> None:
    calls = [
        LoggedCall(name="Write", id="t1", path="/root/claudedocs/same.md", turn=2),
        LoggedCall(name="Write", id="t2", path="/root/claudedocs/gone.md"),
        LoggedCall(name="Read", id="t3", path="/root/claudedocs/read.md"),
        LoggedCall(name="Write", id="t4", path="/root/claudedocs/failed.md", is_error=True),
    ]
    there = {f"claudedocs/{name}.md": (5, 7.0) for name in ("same", "read", "failed")}
    found = from_records([], SCOPE, calls, facts=there.get)
    assert found.files == (
        DiscoveredFile(
            path="claudedocs/same.md", action="unchanged", size=5, created=7.0, modified=7.0, tool="Write", turn=2
        ),
    )  # fmt: skip
    data = metadata(found, session="run-1", root="/root")
    assert (data["discovery_status"], [file["filename"] for file in data["files_unchanged"]]) == (
        "success",
        ["same.md"],
    )


# Metadata

CREATED = DiscoveredFile(
    path="claudedocs/report.md", action="created", size=25600, version="sha256:ab", created=1761748222.9,
    modified=1761748222.0,
)  # fmt: skip
TOLD = {
    "absolute_path": "/root/claudedocs/report.md", "relative_path": "claudedocs/report.md", "filename": "report.md",
    "size_bytes": 25600, "created_at": "2025-10-29T14:30:22Z", "modified_at": "2025-10-29T14:30:22Z",
    "checksum": "sha256:ab", "mime_type": "text/markdown", "action": "created", "path": "/root/claudedocs/report.md",
}  # fmt: skip


def told(discovery: Discovery) -> dict[str, Any]:
    found = metadata(discovery, session="run-1", root="/root")
    assert found.pop("session_tracking") == {"cli_session_id": "run-1", "session_dir": "/root"}
    return found


def test_a_run_without_files_says_so_and_why() -> None:
    assert told(Discovery(calls=0, unattributed=1)) == {
        "files_created": [], "discovery_method": "event_journal", "discovery_status": "no_files_found", "unattributed": 1,
        "discovery_details": {
            "sdk_parsing_attempted": False, "sdk_parsing_failures": 0,
            "directory_scan_attempted": False, "directory_scan_failures": 0,
            "possible_causes": [
                "The agent answered with text only: it called no tool that writes files.",
                "1 changes may be of this run or of another one.",
            ],
            "suggested_actions": [
                "Ask for a file by its name, and retry.", "Give each run an output folder of its own.",
            ],
        },
    }  # fmt: skip


def test_a_created_file_is_told_in_full_and_empty_lists_are_left_out() -> None:
    assert told(Discovery(files=(CREATED,))) == {
        "files_created": [TOLD], "discovery_method": "event_journal", "discovery_status": "success",
    }  # fmt: skip


def test_modified_and_deleted_files_have_lists_of_their_own() -> None:
    modified = DiscoveredFile(
        path="a\udcff.bin", action="modified", size=0, created=0.0, modified=1.5, attributed="call", tool="Edit", turn=2
    )
    deleted = DiscoveredFile(path="b.md", action="deleted", created=1.0, modified=1.0, attributed="alone")
    assert told(Discovery(files=(modified, deleted), unattributed=1)) == {
        "files_created": [],
        "files_modified": [
            {
                "absolute_path": "/root/a\\xff.bin", "relative_path": "a\\xff.bin", "filename": "a\\xff.bin", "size_bytes": 0,
                "created_at": "1970-01-01T00:00:00Z", "modified_at": "1970-01-01T00:00:01Z",
                "mime_type": "application/octet-stream", "action": "modified", "path": "/root/a\\xff.bin",
                "attributed": "call", "tool": "Edit", "turn": 2,
            }
        ],
        "files_deleted": [
            {
                "absolute_path": "/root/b.md", "relative_path": "b.md", "filename": "b.md", "action": "deleted",
                "path": "/root/b.md", "attributed": "alone",
            }
        ],
        "discovery_method": "event_journal",
        "discovery_status": "success",
        "unattributed": 1,
    }  # fmt: skip


# Answers


def test_the_event_is_two_lines_and_an_empty_one() -> None:
    name, data, *rest = sse(
        {"error": "a\nb", "files_created": []}, chunk={"id": "c-1", "model": "m", "choices": [1]}
    ).split("\n")
    assert (name, rest) == ("event: x_claude_metadata", ["", ""])
    assert json.loads(data.removeprefix("data: ")) == {
        "failure": "a\nb", "files_created": [], "id": "c-1", "object": "chat.completion.chunk", "created": 0,
        "model": "m", "choices": [],
    }  # fmt: skip


def test_the_event_is_one_line_for_readers_that_break_lines_as_unicode_does() -> None:
    assert len(sse({"path": "a\u2028b\x85c\u2029"}).splitlines()) == 3


def test_an_answer_in_plain_json_gets_a_key_beside_its_usage() -> None:
    response = {"id": "c-1", "usage": {"total_tokens": 1}}
    assert attach(response, {"files_created": []}) == {**response, KEY: {"files_created": []}}
    assert KEY not in response


# The switch


@pytest.mark.parametrize(
    ("value", "prompt", "is_on"),
    [
        (None, "", False),
        ("disabled", "x", False),
        (None, "/sc:researching", False),
        ("enabled", "", True),
        (None, "/sc:research", True),
        (None, "Do this:\n/sc:research topic\nthanks", True),
    ],
)
def test_a_header_or_a_line_with_a_command_switches_it_on(value: str | None, prompt: str, is_on: bool) -> None:
    headers = {} if value is None else {"X-Claude-File-Discovery": value}
    assert is_enabled(headers, prompt) is is_on
    assert not is_enabled(headers, prompt, has_tools=False)
