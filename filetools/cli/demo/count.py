"""The count at the end: the edits that were made, against the files, the mirror and the history."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from filetools.facade.facade import FileToolsFacade
from filetools.models.words import STATE_DIRECTORY


class EditLog(Struct):
    """The edits of a play; each adds a line that no other edit has."""

    begun: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Line -> who adds it, and to which file."""
    acknowledged: set[str] = field(default_factory=set)
    """Lines whose write has returned: these must be in their files."""
    withdrawn: set[str] = field(default_factory=set)
    """Lines that were taken back: these must not be in their files."""
    repeated: int = 0
    """Writes that were refused because somebody else was faster, and made again."""

    def begin(self, name: str, path: str, line: str) -> str:
        """Note an edit, and return its line."""
        self.begun[line] = name, path
        return line

    def acknowledge(self, *lines: str) -> None:
        """Note that edits are done."""
        self.acknowledged.update(lines)

    def withdraw(self, line: str) -> None:
        """Note that an edit was taken back."""
        self.acknowledged.discard(line)
        self.withdrawn.add(line)


class CountRow(Struct, frozen=True):
    """One line of the count."""

    name: str
    value: str
    holds: bool = True


async def counted(
    files: FileToolsFacade, root: Path, mirror: Path, originals: Mapping[str, str], edits: EditLog
) -> list[CountRow]:
    """Return the count."""
    tree, copies = read_tree(root), read_tree(mirror)
    lines = {path: content.decode("utf-8", "replace").splitlines(keepends=True) for path, content in tree.items()}
    found = {(path, line.rstrip("\n")) for path, content in lines.items() for line in content}
    missing = {line for line in edits.acknowledged if (edits.begun[line][1], line) not in found}
    kept = await _kept(files, {line: edits.begun[line][1] for line in missing if edits.begun[line][0] == "shell"})
    lost = missing - kept
    back = {line for line in edits.withdrawn if (edits.begun[line][1], line) in found}
    damaged = tree.keys() ^ originals.keys()
    for path, content in lines.items():
        own = [line for line in content if line.rstrip("\n") not in edits.begun]
        is_whole = "".join(own) == originals.get(path) and len(set(content)) - len(set(own)) == len(content) - len(own)
        damaged |= set() if is_whole else {path}
    named = await _named(files, lines)
    # The history of a file that a shell changes first begins after that change: the author of its line is not known.
    present = {line for line in edits.acknowledged - missing if edits.begun[line][0] != "shell"}
    right = {line for line in present if named.get(line) == edits.begun[line][0]}
    differing = {path for path in tree | copies if tree.get(path) != copies.get(path)}
    return [
        CountRow("lost", f"{len(lost)} of {len(edits.acknowledged)} edits", not lost),
        CountRow("damaged", f"{len(damaged)} of {len(originals)} files", not damaged),
        CountRow("back again", f"{len(back)} of {len(edits.withdrawn)} edits that were taken back", not back),
        CountRow("author known", f"{len(right)} of {len(present)} lines of the agents and Ann", right == present),
        CountRow("displaced", f"{len(kept)} lines of the shell, kept as versions"),
        CountRow("mirror equal", "yes" if not differing else f"no: {', '.join(sorted(differing))}", not differing),
    ]


async def _kept(files: FileToolsFacade, lines: Mapping[str, str]) -> set[str]:
    """Return which lines are in an earlier version of their files.

    A shell opens a file and writes to it later: what it writes in the instant in which another replaces the file is not
    in the new one.
    """
    kept = set()
    for line, path in lines.items():
        for entry in (await files.versions(path, limit=1000)).versions:
            if entry.kept and line in (await files.read_file(path, version=entry.version)).content.splitlines():
                kept.add(line)
    return kept


async def _named(files: FileToolsFacade, lines: Mapping[str, list[str]]) -> dict[str, str]:
    """Return who wrote each line last, by the history."""
    named: dict[str, str] = {}
    for path, content in lines.items():
        for part in (await files.provenance(path)).ranges:
            if part.actor is not None:
                named |= {line.rstrip("\n"): part.actor["id"] for line in content[part.first - 1 : part.last]}
    return named


def read_tree(folder: Path) -> dict[str, bytes]:
    """Return every file in a folder by its path, without the state of filetools."""
    found = ((path.relative_to(folder), path) for path in folder.rglob("*") if path.is_file())
    return {inside.as_posix(): path.read_bytes() for inside, path in found if inside.parts[0] != STATE_DIRECTORY}
