"""Finds and reads the instruction files for agents, such as AGENTS.md, that apply to a path. They are treated as data."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final, TypeAlias

from filetools.content.extracts.whole import whole_start
from filetools.content.kind import sniff
from filetools.content.version import version_of
from filetools.errors import FileToolsError
from filetools.models.words import EntryType
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.project.folder import ProjectFolder, below, holds_any, home_folder, located
from filetools.stores.folder import FolderStore

NAMES: Final = {"AGENTS.md": "agents", "CLAUDE.md": "claude", ".claude/CLAUDE.md": "claude", "CLAUDE.local.md": "local"}
"""The instruction files of a folder and their kinds; names are case-sensitive."""
MOST_HOPS: Final = 5
"""Maximum depth of imports from a CLAUDE.md."""
MOST_IMPORTS: Final = 200
"""Maximum number of imports resolved in one call."""
MOST_NAMED: Final = 100
"""Maximum number each of rules, skills, and omitted files."""
LARGEST_BYTES: Final = 1024 * 1024
_SHORTEST_PART: Final = 200
_FRONT_BYTES: Final = 16 * 1024
_FACT_CHARACTERS: Final = 500
_CODE: Final = re.compile(
    r"^(?:[ \t>*+-]|\d+[.)])*(`{3,}(?=[^`\n]*$)|~{3,}).*?(?:^[ \t>]*\1[`~]*[ \t]*$|\Z)"  # a fenced block
    # A span, which ends in its paragraph. Possessive quantifiers keep hostile texts from causing backtracking.
    r"|(?<!`)(`+)(?!`)(?:[^`\n]++|\n(?![ \t]*\n)|(?!\2(?!`))`++){1,200}\2(?!`)"
    r"|<!--.*?(?:-->|\Z)",  # a comment
    re.DOTALL | re.MULTILINE,
)
_IMPORT: Final = re.compile(r"(?<!\S)@((?:[^\s\\]|\\ )+)")
_PUNCTUATION: Final = ".,;:!?)]}\"'*_"
_FRONT: Final = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*$", re.DOTALL | re.MULTILINE)
_VALUE: Final = re.compile(r"^(name|description):[ \t]*(.*(?:\n(?:[ \t].*|$))*)", re.MULTILINE)
_QUOTED: Final = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^']|'')*)'")
_Entry: TypeAlias = dict[str, Any]


def instruction_root(place: str, within: str | None) -> str:
    """Return the topmost folder whose instruction files apply to a folder.

    This is the root of its repository, else `within`. Without a limit, it is the outermost folder up to the home folder that
    is a repository or has instruction files; outside the home folder, the root of the repository, else `place`, since folders
    further up belong to others.

    Args:
        place: Absolute, with links resolved.
        within: `place` or a parent folder, above which nothing is read; None for no limit.
    """
    home = home_folder() if within is None else None
    is_at_home = home is not None and below(place, home) is not None
    top = within or (home if home is not None and is_at_home else os.sep)
    inside = below(place, top) or ROOT
    ways = [posixpath.join(top, each) if each else top for each in dict.fromkeys((ROOT, *inside.folders, inside))]
    if is_at_home:
        return next((each for each in ways if holds_any(each, (".git", *NAMES))), place)
    return next((each for each in reversed(ways) if holds_any(each, (".git",))), within or place)


def instructions(folder: ProjectFolder, path: str = "", *, max_chars: int = 20_000) -> dict[str, Any]:
    """Return the instruction files that apply to a path, broadest first, most specific last.

    Links in the folder are followed; a file counts once, under its real path, and so do files with equal bytes. Files are
    omitted if they are outside the folder or the repository that names them, are not text, or may not be read. Files that a
    CLAUDE.md imports by `@path`, directly or indirectly, follow it as entries of its kind; an `@path` in code, in a comment or
    in an AGENTS.md is plain text, and so is one that names no file.

    Args:
        folder: The open folder from `instruction_root`.
        path: A file or folder in it; for a missing path, its nearest existing parent is used.
        max_chars: Maximum number of code points of all contents. The broadest files are cut first, then omitted.

    Returns:
        `{"files": [{"path", "kind", "content", "truncated", "version"?}], "skills"?: [{"name", "description", "path"}],
        "omitted"?: [path]}`; paths are relative to the folder. Files above 1 MiB have no version and are truncated. Rules
        have only path and kind, because they may be limited to some paths. `omitted` has at most 100 paths.

    Raises:
        InvalidPathError, PathTraversalError, PathTooLongError, SymlinkEscapeError, SymlinkNotAllowedError, AccessDeniedError
    """
    reads, known = folder.reads, dict[WorkspacePath, str]()
    own, rules, skills = list[dict[WorkspacePath, str]](), list[list[WorkspacePath]](), dict[WorkspacePath, _Entry]()
    for place in _ways(reads, path):
        found = instruction_files(reads, place)
        own.append({each: kind for each, kind in found.items() if each not in known})
        known |= found
        rules.append(_listed(reads, place, ".claude/rules")[: MOST_NAMED - sum(map(len, rules))])
        for each in (".claude/skills", ".agents/skills") if len(skills) < MOST_NAMED else ():
            skills |= {file: _skill(reads, file) for file in _listed(reads, place, each, "SKILL.md")}
    contents = _Contents(folder, known, max_chars)
    told = [contents.of_folder(files) for files in reversed(own)]  # the most specific files get space first
    for part, names in zip(reversed(told), rules, strict=True):
        part += [{"path": each, "kind": "rules"} for each in names if each not in known]
    answer: dict[str, Any] = {"files": [entry for part in reversed(told) for entry in part]}
    more = {"skills": [*skills.values()][:MOST_NAMED], "omitted": contents.omitted[: -MOST_NAMED - 1 : -1]}
    return answer | {name: each for name, each in more.items() if each}


def instruction_files(reads: FolderStore, place: WorkspacePath) -> dict[WorkspacePath, str]:
    """Return the instruction files of one folder, by real path, and their kinds, in order."""
    found = ((_located(reads, place, name, "file"), kind) for name, kind in NAMES.items())
    return {path: NAMES.get(path.name, kind) for path, kind in found if path is not None}


class _Contents:
    """The contents of one answer.

    Args:
        folder: The folder of the files.
        known: All files already in the answer; imports are added.
        room: Maximum number of code points.
    """

    def __init__(self, folder: ProjectFolder, known: dict[WorkspacePath, str], room: int) -> None:
        self._folder, self._known, self._most, self._room = folder, known, room, room
        self._versions: set[str] = set()
        self._looked = 0
        self.omitted: list[str] = []
        """Most specific first."""

    def of_folder(self, files: dict[WorkspacePath, str]) -> list[_Entry]:
        """Return the entries of one folder's files and their imports, as far as there is space."""
        if not self._room:
            self.omitted += reversed(files)
            return []
        groups = [list(self._read(path, kind, 0)) for path, kind in files.items()]
        fitting = [[entry for entry in group if self._fits(entry)] for group in reversed(groups)]
        return [entry for group in reversed(fitting) for entry in group]

    def _read(self, path: WorkspacePath, kind: str, hops: int) -> Iterator[_Entry]:
        try:
            raw, _ = self._folder.reads.read_start(path, LARGEST_BYTES + 1)
        except FileToolsError:  # it was deleted, or may not be read
            return
        text = _text(raw, min(4 * (self._most + 32), LARGEST_BYTES))
        if text is None:
            return
        version = version_of(raw) if len(raw) <= LARGEST_BYTES else ""
        content = whole_start(text, self._most)
        if not version or version not in self._versions:
            self._versions.add(version)
            cut = not version or len(content) < len(text)
            entry = {"path": path, "kind": kind, "content": content, "truncated": cut}
            yield entry | ({"version": version} if version else {})
        if kind != "agents" and hops < MOST_HOPS:
            for each in self._imports(content, path):
                yield from self._read(each, kind, hops + 1)

    def _fits(self, entry: _Entry) -> bool:
        content, room = entry["content"], self._room
        self._room = max(0, room - len(content))
        if room < min(len(content), self._most, _SHORTEST_PART):
            self._room = 0
            self.omitted.append(entry["path"])
            return False
        if room < len(content):
            entry |= {"content": whole_start(content, room), "truncated": True}
        return True

    def _imports(self, text: str, importer: WorkspacePath) -> Iterator[WorkspacePath]:
        """Yield the imports of a text that are not in the answer yet; import paths are relative to the importing file."""
        root, reads = self._folder.path, self._folder.reads
        for raw in _imported(text):
            if self._looked == MOST_IMPORTS:
                return
            self._looked += 1
            with suppress(FileToolsError):  # NUL, or a name that is too long
                inside = below(posixpath.normpath(posixpath.join(root, importer.parent, raw)), root)
                path = None if inside is None else _located(reads, ROOT, inside, "file")
                if path is not None and path not in self._known and not _leaves(reads, importer.parent, path):
                    self._known[path] = ""
                    yield path


def _ways(reads: FolderStore, path: str) -> Sequence[WorkspacePath]:
    """Return the folders from the root down to a path, or to its parent if it is not a folder."""
    place = reads.locate(reads.resolve(path))
    while not place.is_root and ((found := reads.stat(place)) is None or found.type != "directory"):
        place = place.parent
    return (ROOT, *place.folders, place) if place else (ROOT,)


def _located(reads: FolderStore, place: WorkspacePath, inside: str, kind: EntryType) -> WorkspacePath | None:
    """Return the real path of an entry in a folder; None if it is of another type, outside, or withheld from the caller."""
    with suppress(FileToolsError):
        found = located(reads, WorkspacePath(f"{place}/{inside}" if place else inside), kind)
        if found is not None and not _leaves(reads, place, found):
            return None if reads.is_withheld is not None and reads.is_withheld(found) else found
    return None


def _leaves(reads: FolderStore, place: WorkspacePath, path: WorkspacePath) -> bool:
    """Return True if a path is outside the repository of a folder, which must not include the user's files elsewhere."""
    if path.is_below(place):  # almost always
        return False
    ways = (each for each in (place, *reversed(place.folders)) if each and reads.stat(each.child(".git")) is not None)
    return not path.is_below(next(ways, ROOT))


def _listed(reads: FolderStore, place: WorkspacePath, inside: str, name: str = "") -> list[WorkspacePath]:
    """Return the Markdown files in a folder, or the file `name` in each of its subfolders; at most `MOST_NAMED`."""
    folder = _located(reads, place, inside, "directory")
    if folder is None:
        return []
    with suppress(FileToolsError):
        names = sorted(each.name for each in reads.scan(folder) if name or each.name.endswith(".md"))[:MOST_NAMED]
        found = (_located(reads, folder, f"{each}/{name}" if name else each, "file") for each in names)
        return [*dict.fromkeys(path for path in found if path is not None)]
    return []


def _text(raw: bytes, most: int) -> str | None:
    """Return the text of the first bytes of a file; None if it is binary."""
    head = raw[:most]
    form = sniff(head, complete=len(head) == len(raw)).format
    return None if form is None else head[len(form.bom) :].decode(form.encoding, "replace")


def _imported(text: str) -> Iterator[str]:
    """Yield the imports of a text: `@path` after a blank, outside code and comments."""
    for match in _IMPORT.finditer(_CODE.sub("`", text.replace("\r\n", "\n"))):
        path = match[1].replace("\\ ", " ").partition("#")[0].rstrip(_PUNCTUATION)
        if path and not path.startswith("~"):
            yield path


def _skill(reads: FolderStore, path: WorkspacePath) -> _Entry:
    """Return the name and description of a skill from the front matter of its SKILL.md."""
    facts = {"name": path.parent.name, "description": ""}
    with suppress(FileToolsError):
        text = (_text(reads.read_start(path, _FRONT_BYTES + 1)[0], _FRONT_BYTES) or "").replace("\r\n", "\n")
        front = _FRONT.match(text)
        found = ((key, _scalar(value)) for key, value in _VALUE.findall(front[1] if front else ""))
        facts |= {key: value for key, value in found if value}
    return {**{key: whole_start(value, _FACT_CHARACTERS) for key, value in facts.items()}, "path": path}


def _scalar(raw: str) -> str:
    """Return a YAML scalar as one line: a plain one, a quoted one, or a block after `|` or `>`."""
    text = " ".join(raw.split())
    if text[:1] in ("|", ">"):
        return text.partition(" ")[2]
    if match := _QUOTED.match(text):
        return match[2].replace("''", "'") if match[1] is None else re.sub(r"\\(.)", r"\1", match[1])
    return text.partition(" #")[0]
