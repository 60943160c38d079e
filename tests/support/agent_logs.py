"""Session logs such as the command line of a coding agent writes, made up from a seed: nothing in them is copied.

`LogWriter(folder).session().user("text").assistant(("Read", {"file_path": "a.py"})).result("content")` writes entry by entry.
`grown()` makes the logs of a whole project at random, `hostile_lines()` what no writer should write, `write_bulk()` much
text in little time.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal, Self
from uuid import UUID

Json = dict[str, Any]
Block = str | tuple[str, Json] | Json
"""A text, a tool call as name and input, or a block as it shall stand."""
Layout = Literal["inline", "flat", "nested", "workflow"]

PROJECT: Final = "/home/me/code/app"
VERSIONS: Final = ("1.0.44", "2.0.31", "2.1.30")
ENCODED: Final = "-home-me-code-app"
"""The folder of its logs."""
LAYOUTS: Final[dict[str, Layout]] = {"1.0.44": "inline", "2.0.31": "flat", "2.1.30": "nested"}
"""Where the agents of a version have their entries."""
REJECTED: Final = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. no edit). "
TOLD: Final = "To tell you how to proceed, the user said:\n"
INTERRUPTED: Final = "[Request interrupted by user]"
INTERRUPTED_CALL: Final = "[Request interrupted by user for tool use]"
_SAID: Final = (
    "always ask before you change the parser and keep its tests small please review why this build fails when two readers"
    " want one file never guess prefer short names plan the next step naïve Größe 数据 🚀 fix wrong order of imports"
)
_WORDS: Final = _SAID.split()


class LogWriter:
    """Makes the logs of one project in its folder; the same seed makes the same bytes."""

    def __init__(self, folder: Path, *, seed: int = 0, cwd: str = PROJECT) -> None:
        self.folder, self.cwd, self.random = folder, cwd, random.Random(seed)
        self.now = datetime(2026, 3, 1, 9, tzinfo=UTC) + timedelta(hours=seed)
        folder.mkdir(parents=True, exist_ok=True)

    def uuid(self) -> str:
        return str(UUID(int=self.random.getrandbits(128), version=4))

    def code(self, length: int = 8) -> str:
        return f"{self.random.getrandbits(4 * length):0{length}x}"

    def sentence(self, words: int = 8) -> str:
        return " ".join(self.random.choices(_WORDS, k=words))

    def tick(self) -> str:
        """Return the time of the next entry: often that of the last one."""
        self.now += timedelta(milliseconds=self.random.choice((0, 0, 7, 400, 60_000)))
        return self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def session(self, session_id: str = "", *, version: str = VERSIONS[-1], branch: str = "main") -> Log:
        """Begin the log of a session."""
        session_id = session_id or self.uuid()
        common = {"isSidechain": False, "userType": "external", "cwd": self.cwd, "sessionId": session_id}
        slug = {} if version.startswith("1.") else {"slug": "-".join(self.random.choices(_WORDS[:20], k=3))}
        common |= {"version": version, "gitBranch": branch, **slug}
        return Log(self, self.folder / f"{session_id}.jsonl", common)


class Log:
    """One log that grows: a session's or an agent's. Most methods append entries and return the log."""

    def __init__(self, writer: LogWriter, path: Path, common: Json, parent: Log | None = None) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.writer, self.path, self.common, self.parent = writer, path, common, parent
        self.session_id, self.agent_id = str(common["sessionId"]), str(common.get("agentId", ""))
        self.leaf: str | None = None
        """What the next entry names as its parent."""
        self.calls: dict[str, str] = {}
        """Ids of tool calls that wait for their result, with the uuids of their entries."""
        self.forks: list[str | None] = []
        """What each prompt named as its parent: where one can rewind to."""

    def line(self, raw: bytes, end: bytes = b"\n") -> Self:
        """Append bytes as they are."""
        with self.path.open("ab") as file:
            file.write(raw + end)
        return self

    def fact(self, kind: str, **fields: Any) -> Self:
        """Append an entry that stands outside of the tree, such as a title."""
        return self.line(rendered({"type": kind, **fields, "sessionId": self.session_id}))

    def entry(self, kind: str, **fields: Any) -> Self:
        """Append an entry of the tree; fields override what all entries carry."""
        own = {"type": kind, "uuid": self.writer.uuid(), "timestamp": self.writer.tick()}
        whole = {"parentUuid": self.leaf, **self.common, **own, **fields}
        self.leaf = whole["uuid"]
        return self.line(rendered(whole))

    def user(self, content: str | list[Any], **fields: Any) -> Self:
        """Append what the user says."""
        self.forks.append(self.leaf)
        return self.entry("user", message={"role": "user", "content": content}, **fields)

    def assistant(self, *blocks: Block, **fields: Any) -> Self:
        """Append an answer: an entry for each block, all with the id of one message."""
        message_id = "msg_" + self.writer.code(24)
        for block in blocks:
            whole = _block(block, self.writer)
            message = {
                "id": message_id,
                "type": "message",
                "role": "assistant",
                "content": [whole],
                "model": "some-model",
            }
            self.entry("assistant", message=message, requestId="req_" + message_id[4:], **fields)
            if whole.get("type") == "tool_use":
                self.calls[whole["id"]] = self.leaf or ""
        return self

    def result(self, content: str | list[Any], call: str = "", *, is_error: bool = False) -> Self:
        """Append what a call brought, of the last one by default; its parent is the entry of that call."""
        call = call or next(reversed(self.calls))
        self.leaf = source = self.calls.pop(call)
        failed = {"is_error": True} if is_error else {}
        block = {"tool_use_id": call, "type": "tool_result", "content": content, **failed}
        newer = {"toolUseResult": content} if self.common["version"] < "2.1" else {"sourceToolAssistantUUID": source}
        return self.entry("user", message={"role": "user", "content": [block]}, **newer)

    def parallel(self, count: int) -> Self:
        """Append calls made at once; results come in any order, and the conversation goes on from the last of them."""
        self.assistant(*(("Read", {"file_path": f"{self.writer.cwd}/part{number}.py"}) for number in range(count)))
        for call in self.writer.random.sample(list(self.calls)[-count:], count):
            self.result(self.writer.sentence(), call)
        return self

    def rewind(self, prompts: int = 1) -> Self:
        """Go back to before the last prompts: what came after is outside of the conversation once another follows."""
        self.leaf, self.forks = self.forks[-prompts], self.forks[:-prompts]
        return self

    def compact(self, summary: str) -> Self:
        """Append the boundary and the summary that stands for all before it."""
        before, self.leaf = self.leaf, None
        about = {"trigger": "auto", "preTokens": 155_000}
        self.entry("system", subtype="compact_boundary", logicalParentUuid=before, isMeta=False, compactMetadata=about)
        return self.user(summary, isCompactSummary=True, isVisibleInTranscriptOnly=True)

    def command(self, name: str, arguments: str = "", output: str = "Done.") -> Self:
        """Append a slash command, its caveat before and its output after it."""
        self.user("Caveat: The messages below were made while commands were run locally.", isMeta=True)
        self.user(f"<command-name>{name}</command-name>\n  <command-args>{arguments}</command-args>")
        return self.user(f"<local-command-stdout>{output}</local-command-stdout>")

    def deny(self, reason: str = "") -> Self:
        """Append the user's refusal of the last call."""
        self.result(f"{REJECTED}{TOLD}{reason}" if reason else f"{REJECTED}STOP and wait for the user.", is_error=True)
        return self if reason else self.interrupt(INTERRUPTED_CALL)

    def interrupt(self, note: str = INTERRUPTED) -> Self:
        """Append the note of an interruption."""
        return self.user([{"type": "text", "text": note}])

    def queue(self, prompt: str) -> Self:
        """Append a prompt that was typed while the agent worked."""
        for operation in ({"operation": "enqueue", "content": prompt}, {"operation": "remove"}):
            self.fact("queue-operation", **operation, timestamp=self.writer.tick())
        return self.entry("attachment", attachment={"type": "queued_command", "prompt": prompt})

    def agent(self, prompt: str, *, layout: Layout = "nested", meta: bool = False, **fields: Any) -> Log:
        """Call an agent and return its log, begun with its prompt; `done` ends it. Fields stand in all its entries."""
        self.assistant(("Task", {"description": "Look", "prompt": prompt, "subagent_type": "explore"}))
        return self._begun(layout, fields, meta).user(prompt)

    def warm_up(self, layout: Layout = "flat") -> Self:
        """Let an agent warm up, which no call asks for."""
        self._begun(layout, {}, meta=False).user("Warmup").assistant("Ready.")
        return self

    def done(self, answer: str) -> Log:
        """End an agent; return the log of the one who called it, with the answer."""
        self.assistant(answer)
        assert self.parent is not None
        return self.parent.result([{"type": "text", "text": answer}])

    def _begun(self, layout: Layout, fields: Json, meta: bool) -> Log:
        agent_id = str(fields.get("agentId") or self.writer.code())
        below = self.writer.folder / self.session_id / "subagents"
        folders = {"flat": self.writer.folder, "workflow": below / "workflows" / f"wf_{self.writer.code()}"}
        place = self.path if layout == "inline" else folders.get(layout, below) / f"agent-{agent_id}.jsonl"
        own = {} if layout == "inline" else {"agentId": agent_id}
        log = Log(self.writer, place, {**self.common, "isSidechain": True, **own, **fields}, self)
        if meta:
            above = {"parentAgentId": self.agent_id} if self.agent_id else {}
            origin = {"agentType": "explore", "toolUseId": next(reversed(self.calls)), **above}
            place.with_suffix(".meta.json").write_bytes(rendered(origin))
        return log


def rendered(entry: Any) -> bytes:
    """Return JSON on one line, as JavaScript writes it: without blanks, text as it is, halves of pairs escaped."""
    text = json.dumps(entry, ensure_ascii=False, separators=(",", ":"))
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text).encode()


def _block(block: Block, writer: LogWriter) -> Json:
    if isinstance(block, str):
        return {"type": "text", "text": block}
    if isinstance(block, tuple):
        return {"type": "tool_use", "id": "toolu_" + writer.code(24), "name": block[0], "input": block[1]}
    return block


def grown(folder: Path, seed: int, *, sessions: int = 3, turns: int = 8) -> list[Log]:
    """Write the logs of a project at random and return those of its sessions, of all versions and with all shapes."""
    writer = LogWriter(folder, seed=seed)
    logs: list[Log] = []
    for _ in range(sessions):
        version, branch = writer.random.choice(VERSIONS), writer.random.choice(("main", "fix/parser", ""))
        log = writer.session(version=version, branch=branch)
        if writer.random.random() < 0.3:
            log.fact("file-history-snapshot", messageId=writer.uuid(), snapshot={}, isSnapshotUpdate=False)
        for turn in writer.random.choices(_TURNS, k=writer.random.randint(1, turns)):
            turn(log, writer.sentence())
        logs.append(log)
    return logs


def _call(log: Log, text: str) -> Log:
    return log.user(text).assistant({"type": "thinking", "thinking": text}, text, ("Bash", {"command": "make"}))


def _agent(log: Log, text: str) -> None:
    layout, chance = LAYOUTS[log.common["version"]], log.writer.random.random()
    is_new = layout == "nested"
    layout = "workflow" if is_new and chance < 0.3 else layout
    first = log.user(text).agent(text, layout=layout, meta=is_new and chance < 0.7)
    first.assistant(("Grep", {"pattern": "x"})).result("3 matches")
    if layout in ("flat", "nested"):
        below: Json = {"sessionId": first.agent_id} if not is_new and chance < 0.5 else {}
        first.agent(text, layout=layout, meta=is_new, **below).done("Found.")
    first.done(text).assistant("The agent is done.")


_TURNS: Final[tuple[Callable[[Log, str], object], ...]] = (
    lambda log, text: log.user(text).assistant(text),
    lambda log, text: log.user([{"type": "text", "text": text}, {"type": "text", "text": "And this."}]).assistant("Yes."),
    lambda log, text: _call(log, text).result([{"type": "text", "text": text}]).assistant("Done."),
    lambda log, text: _call(log, text).result(f"Exit code 2\n{text}", is_error=True).assistant("It failed."),
    lambda log, text: _call(log, text).deny(text).assistant("As you like."),
    lambda log, text: _call(log, text).deny(),
    lambda log, text: log.user(text).parallel(log.writer.random.randint(2, 5)).assistant("All read."),
    lambda log, text: log.user(text).assistant("Old branch.").rewind().user(f"Rather: {text}").assistant("New branch."),
    lambda log, text: _call(log, text).result("Old.").user("And?").parallel(2).rewind(2).user(text).assistant("New branch."),
    lambda log, text: log.user(text).assistant("So far.").compact(f"This session goes on from another one. {text}"),
    lambda log, text: log.command(log.writer.random.choice(("/model", "/clear", "/mcp:run")), text),
    lambda log, text: log.user(text).interrupt(),
    lambda log, text: log.user(text).queue(f"Also {text}").assistant("Both done."),
    lambda log, text: log.user(text).entry("system", subtype="local_command", content=text, level="info").assistant("Well."),
    lambda log, text: log.entry("progress", data={"type": "hook_progress"}, toolUseID="toolu_0", parentToolUseID="toolu_0"),
    lambda log, text: log.fact("custom-title", customTitle=text).fact("last-prompt", lastPrompt=text),
    lambda log, text: log.fact("ai-title", aiTitle=text).fact("tag", tag=text),
    lambda log, text: log.fact("summary", summary=text, leafUuid=log.leaf).fact("some-new-kind", payload={"deep": [text]}),
    lambda log, text: log.warm_up() if log.common["version"] == "2.0.31" else log.user(text),
    _agent,
)  # fmt: skip
"""What may happen in a session."""


def hostile_lines() -> dict[str, bytes]:
    """Return lines that no writer should write, by what is odd in them, without the LF that ends them."""
    blocks = [1, None, "text", ["x"], {}, {"type": 3}, {"type": "text"}, {"type": "text", "text": 4}]
    no_id = {"type": "tool_result", "is_error": True, "content": [None, {"text": 1}]}
    no_boolean = {"type": "tool_result", "is_error": "true", "content": "no", "tool_use_id": 3}
    wrong: Json = dict.fromkeys(["timestamp", "sessionId", "cwd", "slug", "isMeta", "parentUuid", "agentId"], 5)
    odd: Json = {
        "message null": {"message": None}, "message number": {"message": 7}, "message list": {"message": ["a", 1]},
        "message text": {"message": "only a text, but long enough"}, "content number": {"message": {"content": 1.5}},
        "content null": {"message": {"content": None}}, "content object": {"message": {"content": {"type": "text"}}},
        "blocks of wrong types": {"message": {"content": blocks}}, "result without id": {"message": {"content": [no_id]}},
        "is_error of another type": {"message": {"content": [no_boolean]}}, "fields of wrong types": wrong,
        "uuid of another type": {"uuid": 12, "message": {"content": "text with a number for its id"}},
        "half a pair": {"message": {"content": "half \ud83d of a pair, and another \ude00"}},
        "line separators": {"message": {"content": "one\u2028two\u2029three\x85four\x0bfive"}},
        "impossible time": {"timestamp": "2026-13-45T99:99:99Z", "message": {"content": "at an impossible time"}},
        "own parent": {"uuid": "loop", "parentUuid": "loop", "message": {"content": "its own parent"}},
    }  # fmt: skip
    plain = rendered({"type": "user", "message": {"role": "user", "content": "a plain sentence, well ended"}})
    return {name: rendered({"type": "user", **fields}) for name, fields in odd.items()} | {
        "no JSON": b"this is no JSON", "number": b"17", "text": b'"text"', "list": b'[{"type":"user"}]', "null": b"null",
        "NaN": b'{"type":"user","message":{"content":NaN}}', "bad UTF-8": plain.replace(b"plain", b"\xff\xc3("),
        "NUL bytes": b"\0" * 64, "NUL in a text": plain.replace(b"plain", b"\0"), "blank": b"", "blanks": b"  \t ",
        "CR": plain + b"\r", "BOM": b"\xef\xbb\xbf" + plain, "two objects": plain + plain, "unfinished": plain[:40],
        "deep": b'{"type":"user","message":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "unfinished text": plain[:-20] + b"\\",
        "deep and unclosed": b'{"a":' * 20_000, "huge integer": b'{"type":"user","uuid":' + b"9" * 5000 + b"}",
        "huge float": b'{"type":"user","timestamp":1e999}', "type of another type": b'{"type":["user"],"uuid":"odd-type"}',
        "key twice": b'{"type":"user","type":"assistant"}',
    }  # fmt: skip


def write_bulk(folder: Path, total_bytes: int, seed: int = 0, *, sessions: int = 40) -> int:
    """Write about so many bytes into the logs of some sessions, and return how many.

    Most lines have 0.3 to 3 KB, two of a hundred are results of 20 to 200 KB, two of a thousand are hostile.
    """
    writer = LogWriter(folder, seed=seed)
    templates, written, choice = _templates(writer), 0, writer.random.choice
    odd = list(hostile_lines().values())
    for number in range(sessions):
        log, parent, lines, size = writer.session(), b"null", list[bytes](), 0
        while size < total_bytes // sessions:
            at = len(lines)
            uuid = b'"%08x-0000-4000-8000-%012x"' % (number, at)
            time = b"2026-04-%02dT%02d:%02d:%02d.000Z" % (number % 28 + 1, at // 3600 % 24, at // 60 % 60, at % 60)
            is_odd = writer.random.random() < 0.002
            lines.append(choice(odd) if is_odd else choice(templates) % (parent, uuid, time, log.session_id.encode()))
            parent, size = parent if is_odd else uuid, size + len(lines[-1]) + 1
        log.line(b"\n".join(lines))
        written += size
    return written


def _templates(writer: LogWriter) -> list[bytes]:
    """Return a hundred lines that want parent, uuid, time and session id."""
    common, made = writer.session().common, []
    del common["sessionId"]
    for number in range(100):
        text = writer.sentence(writer.random.randint(5, 250))
        if number < 2:
            text = (text + "\n") * (writer.random.randint(20_000, 200_000) // len(text.encode()))
        refusal = (
            {"content": f"{REJECTED}{TOLD}{text[:400]}", "is_error": True} if 2 <= number < 6 else {"content": text}
        )
        result = {"type": "tool_result", "tool_use_id": "toolu_" + writer.code(24), **refusal}
        answer = _block(text if number % 2 else ("Edit", {"file_path": "a.py", "new_string": text}), writer)
        kind, content = ("assistant", [answer]) if number >= 60 else ("user", [result] if number < 45 else text[:400])
        whole = rendered({**common, "type": kind, "message": {"role": kind, "content": content}})
        made.append(b'{"parentUuid":%b,"uuid":%b,"timestamp":"%b","sessionId":"%b",' + whole.replace(b"%", b"%%")[1:])
    return made
