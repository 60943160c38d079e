"""The folders that a door serves by absolute paths: which workspace a path belongs to, and what it is called there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct, structs

from filetools.errors import AbsolutePathError, PathTooLongError
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Actor, ChangedFile
from filetools.models.words import OnConflict
from filetools.paths.lexical import names_folder

MAX_PATH_CHARACTERS: Final = 4096
_IS_WINDOWS: Final = os.name == "nt"
_DRIVE: Final = re.compile(r"[A-Za-z]:")


class Root(Struct, frozen=True, kw_only=True):
    """A folder that is served: all of a workspace, or a part of it."""

    files: FileToolsFacade
    spellings: tuple[str, ...]
    """Its absolute paths: as given, and with links resolved."""
    base: str = ""
    """What it is called in the workspace."""

    @classmethod
    def of(cls, files: FileToolsFacade) -> Root:
        """Return the root that is all of a workspace."""
        return cls(files=files, spellings=files.root_paths)

    def holds(self, path: str) -> bool:
        """Whether a path in the workspace is one of this root."""
        return not self.base or path == self.base or path.startswith(f"{self.base}/")

    def absolute(self, path: str) -> str:
        """Return the absolute path, as given, of a path in the workspace."""
        inside = path.removeprefix(self.base).removeprefix("/")
        return "/".join((self.spellings[0].rstrip("/"), inside)) if inside else self.spellings[0]


class ServedPath(Struct, frozen=True, kw_only=True):
    """What a path of a caller names."""

    root: Root
    path: str
    """In the workspace; not validated, which every method of `files` does."""
    absolute: str
    """In the caller's own spelling."""
    is_folder: bool = False
    """Whether the caller's path ends in a slash."""

    @property
    def new_path(self) -> str:
        """The path for a call that makes a file, which refuses that of a folder."""
        return f"{self.path}/" if self.is_folder else self.path

    @property
    def files(self) -> FileToolsFacade:
        """The workspace."""
        return self.root.files


class Roots:
    """The folders that one actor is served; lives as long as its registry of tools.

    Args:
        roots: Paths that are not absolute are relative to the first; with none, every path is refused.
    """

    def __init__(self, roots: Sequence[Root]) -> None:
        self._roots = tuple(roots)
        forms = ((_segments(spelling), spelling, root) for root in roots for spelling in root.spellings)
        self._longest_first = sorted(forms, key=lambda form: len(form[0]), reverse=True)

    @classmethod
    def of(cls, *files: FileToolsFacade) -> Roots:
        """Return the roots of whole workspaces."""
        return cls([Root.of(each) for each in files])

    @property
    def first(self) -> Root:
        """The root that other than absolute paths are relative to."""
        return self._roots[0]

    @property
    def folders(self) -> list[str]:
        """The absolute paths of all roots, in all their spellings."""
        return list(dict.fromkeys(spelling for root in self._roots for spelling in root.spellings))

    def locate(self, raw_path: str) -> ServedPath:
        """Return what a path names, absolute or relative; by its name only, the rules of paths are the workspace's.

        Raises:
            AbsolutePathError: It is absolute and lies in none of the roots.
            PathTooLongError
        """
        if len(raw_path) > MAX_PATH_CHARACTERS:
            raise PathTooLongError(raw_path)
        text = raw_path.replace("\\", "/")
        if self._roots and not (text.startswith("/") or _DRIVE.match(text)):
            inside = "/".join(filter(None, (self.first.base, *_segments(text))))
            absolute = self.first.absolute(inside)
            return ServedPath(root=self.first, path=inside, absolute=absolute, is_folder=names_folder(raw_path))
        segments = _segments(text)
        if _IS_WINDOWS or not raw_path.startswith("\\\\"):
            for form, spelling, root in self._longest_first:
                if _starts_with(segments, form):
                    rest = segments[len(form) :]
                    inside = "/".join(filter(None, (root.base, *rest)))
                    absolute = "/".join((spelling.rstrip("/"), *rest)) or "/"
                    return ServedPath(root=root, path=inside, absolute=absolute, is_folder=names_folder(raw_path))
        raise AbsolutePathError(raw_path)

    def narrowed(self, folders: Iterable[tuple[str, ...]]) -> Roots:
        """Return what these roots and some folders have in common, by the names of the folders.

        Args:
            folders: The absolute paths of each: as given, and last with its links resolved.
        """
        found: dict[tuple[int, str], Root] = {}
        for root in (root for spellings in folders for root in self._common(spellings)):
            known = found.setdefault((id(root.files), root.base), root)
            spellings = tuple(dict.fromkeys((*known.spellings, *root.spellings)))
            found[id(root.files), root.base] = structs.replace(known, spellings=spellings)
        return Roots(list(found.values()))

    def _common(self, spellings: tuple[str, ...]) -> Iterator[Root]:
        """Yield the part of a root that is a folder, or else the roots that lie in it."""
        segments = _segments(spellings[-1])
        for form, _, root in self._longest_first:
            if _starts_with(segments, form):
                base = "/".join(filter(None, (root.base, *segments[len(form) :])))
                yield structs.replace(root, spellings=tuple(dict.fromkeys(spellings)), base=base)
                return
        for form, _, root in self._longest_first:
            if _starts_with(form, segments):
                yield root

    def for_actor(self, actor: Actor, *, on_conflict: OnConflict | None = None, ephemeral: bool = False) -> Roots:
        """Return the same folders for another actor, perhaps one who has a person decide about unsaved text."""
        known = {
            id(files): files.for_actor(actor, on_conflict=on_conflict, ephemeral=ephemeral)
            for files in self._workspaces()
        }
        return Roots([structs.replace(root, files=known[id(root.files)]) for root in self._roots])

    async def recall(self) -> None:
        """Load what the actor knew in earlier openings."""
        for files in self._workspaces():
            await files.recall()

    def changed_since_read(self) -> tuple[ChangedFile, ...]:
        """Return the files that the actor knows and others have changed since, by their absolute paths."""
        told: list[ChangedFile] = []
        for files in self._workspaces():
            for each in files.changed_since_read():
                root = next((root for root in self._roots if root.files is files and root.holds(each.path)), None)
                if root is not None:  # else it was known when more was served
                    told.append(structs.replace(each, path=root.absolute(each.path)))
        return tuple(told)

    def _workspaces(self) -> Iterable[FileToolsFacade]:
        return {id(root.files): root.files for root in self._roots}.values()


def _segments(text: str) -> tuple[str, ...]:
    return tuple(segment for segment in text.replace("\\", "/").split("/") if segment and segment != ".")


def _starts_with(segments: Sequence[str], root: Sequence[str]) -> bool:
    head = segments[: len(root)]
    return head == root or (_IS_WINDOWS and [*map(str.casefold, head)] == [*map(str.casefold, root)])
