"""Agents before three doors: our tools over MCP, those of another product, and HTTP."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from random import Random
from typing import Final

from tests.support.schedules.tokens import tokens_in
from tests.support.together.doors import Answer, called
from tests.support.together.scene import Scene, changed_lines

TRIES: Final = 3
"""How often a write under a condition is made anew on the text that stands there now."""
_NUMBERED: Final = re.compile(r"^\s*\d+[\t→](.*)$", re.MULTILINE)


@dataclass
class Agent:
    """What all agents have in common: they pick lines of a text that they have read."""

    scene: Scene
    letter: str
    known: dict[str, str] = field(default_factory=dict)
    """The text that it read last of each path, however old."""
    chance: Random = field(init=False)

    def __post_init__(self) -> None:
        self.chance = self.scene.chance(self.letter)

    def swap(self, path: str) -> tuple[str, str]:
        """Return a line of the known text, and what shall stand in its place: most often itself and a new one."""
        lines = [line for line in self.known[path].splitlines() if line.strip()]
        old, new = self.chance.choice(lines), self.scene.mint.line(self.letter)
        return old, new if self.chance.random() < 0.3 else f"{old}\n{new}"

    def new_line(self) -> str:
        """Return a line with a new token, and its end."""
        return self.scene.mint.line(self.letter) + "\n"

    def note(self, what: str, answer: Answer, had: str, has: str) -> bool:
        """Enter a change from one text to another."""
        return self.scene.note(self.letter, what, answer.refusal, tokens_in(has), tokens_in(had))


class NativeAgent(Agent):
    """An agent with our own tools over MCP."""

    async def act(self) -> None:
        """Do something."""
        path = self.scene.path(self.chance)
        if path not in self.known or self.chance.random() < 0.15:
            await self._read(path)
        acts = (self._write, self._edit, self._insert, self._patch)
        await self.chance.choices(acts, (4, 4, 2, 1))[0](path)

    async def _read(self, path: str) -> str:
        found = (await called(self.scene.doors.native, "read_file", path=path)).data
        self.known[path] = found["content"]
        return str(found["version"])

    async def _write(self, path: str) -> None:
        for _ in range(TRIES):
            version, known = await self._read(path), self.known[path]
            text = changed_lines(self.scene, self.chance, self.letter, known)
            answer = await called(
                self.scene.doors.native, "write_file", path=path, content=text, expected_version=version
            )
            if self.note(f"write_file {path} at {version[7:15]}", answer, known, text):
                return

    async def _edit(self, path: str) -> None:
        old, new = self.swap(path)
        client = self.scene.doors.native
        answer = await called(client, "edit_file", path=path, old_string=old, new_string=new)
        is_done = self.note(f"edit_file {path} {old!r} -> {new!r}", answer, old, new)
        # Only what adds and removes nothing is taken back: by whom else a line was known meanwhile, nobody can say.
        if is_done and old in new and self.chance.random() < 0.3:
            undone = await called(client, "undo_changes")
            self.note(f"undo_changes: {new!r}", undone, new, old)

    async def _insert(self, path: str) -> None:
        line = self.new_line()
        answer = await called(self.scene.doors.native, "append_file", path=path, content=line)
        self.note(f"append_file {path} {line!r}", answer, "", line)

    async def _patch(self, path: str) -> None:
        old, new = self.swap(path)
        body = "\n".join(["*** Begin Patch", f"*** Update File: {path}", "@@", f"-{old}", *_plus(new), "*** End Patch"])
        answer = await called(self.scene.doors.native, "apply_patch", patch=body + "\n")
        self.note(f"apply_patch {path} {old!r} -> {new!r}", answer, old, new)


class DialectAgent(Agent):
    """An agent with the tools of Claude Code over MCP, whose writes name no version."""

    async def act(self) -> None:
        """Do something."""
        path = self.scene.path(self.chance)
        if path not in self.known or self.chance.random() < 0.3:
            await self._read(path)
        await (self._write if self.chance.random() < 0.5 else self._edit)(path)

    async def _read(self, path: str) -> None:
        answer = await called(self.scene.doors.dialect, "Read", file_path=path)
        assert answer.refusal is None, answer
        self.known[path] = "".join(f"{line}\n" for line in _NUMBERED.findall(answer.text))

    async def _write(self, path: str) -> None:
        known = self.known.pop(path)  # refused or merged, what stands there now has to be read
        text = changed_lines(self.scene, self.chance, self.letter, known)
        answer = await called(self.scene.doors.dialect, "Write", file_path=path, content=text)
        self.note(f"Write {path}", answer, known, text)

    async def _edit(self, path: str) -> None:
        old, new = self.swap(path)
        answer = await called(self.scene.doors.dialect, "Edit", file_path=path, old_string=old, new_string=new)
        self.note(f"Edit {path} {old!r} -> {new!r}", answer, old, new)
        self.known.pop(path)


class HttpAgent(Agent):
    """A program that puts whole files under a condition, patches parts, and posts tools."""

    async def act(self) -> None:
        """Do something."""
        path = self.scene.path(self.chance)
        acts = (self._put, self._patch, self._append)
        await self.chance.choices(acts, (4, 3, 2))[0](path)

    async def _read(self, path: str) -> str:
        while True:
            answer, response = await self.scene.doors.asked("GET", f"/v1/files/{path}")
            # Another program wrote into the file itself at this moment.
            if answer.refusal != "CHANGED_MEANWHILE":
                break
        assert answer.refusal is None, answer
        self.known[path] = response.content.decode()
        return response.headers["etag"]

    async def _put(self, path: str) -> None:
        for _ in range(TRIES):
            tag, known = await self._read(path), self.known[path]
            text = changed_lines(self.scene, self.chance, self.letter, known)
            answer, _ = await self.scene.doors.asked(
                "PUT", f"/v1/files/{path}", content=text.encode(), headers={"If-Match": tag}
            )
            if self.note(f"PUT {path} If-Match {tag[8:16]}", answer, known, text):
                return

    async def _patch(self, path: str) -> None:
        if path not in self.known:
            await self._read(path)
        old, new = self.swap(path)
        body = {"edits": [{"old": old, "new": new}]}
        answer, _ = await self.scene.doors.asked("PATCH", f"/v1/files/{path}", json=body)
        self.note(f"PATCH {path} {old!r} -> {new!r}", answer, old, new)

    async def _append(self, path: str) -> None:
        line = self.new_line()
        if self.chance.random() < 0.5:
            answer = await self.scene.doors.posted("append_file", path=path, content=line)
        else:
            answer = await self.scene.doors.posted("insert_lines", path=path, line=0, text=line)
        self.note(f"POST {path} {line!r}", answer, "", line)


def _plus(text: str) -> list[str]:
    return [f"+{line}" for line in text.splitlines()]
