"""The folders served by absolute paths: maps a path to its workspace and its path there."""

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
    """A served folder: all of a workspace, or a part of it."""

    files: FileToolsFacade
    spellings: tuple[str, ...]
    """Its absolute paths: as given, and with links resolved."""
    base: str = ""
    """Its path in the workspace."""

    @classmethod
    def of(cls, files: FileToolsFacade) -> Root:
        """Return the root for a whole workspace."""
        return cls(files=files, spellings=files.root_paths)

    def holds(self, path: str) -> bool:
        """Return True if a workspace path belongs to this root."""
        return not self.base or path == self.base or path.startswith(f"{self.base}/")

    def absolute(self, path: str) -> str:
        """Return the absolute path of a workspace path, below the root as it was given."""
        inside = path.removeprefix(self.base).removeprefix("/")
        return "/".join((self.spellings[0].rstrip("/"), inside)) if inside else self.spellings[0]


class ServedPath(Struct, frozen=True, kw_only=True):
    """A resolved path of a caller."""

    root: Root
    path: str
    """The path in the workspace; not validated, since every method of `files` does that."""
    absolute: str
    """The absolute path in the caller's spelling."""
    is_folder: bool = False
    """True if the caller's path ends in a slash."""

    @property
    def new_path(self) -> str:
        """The path for a call that creates a file; it keeps the trailing slash, which such calls refuse."""
        return f"{self.path}/" if self.is_folder else self.path

    @property
    def files(self) -> FileToolsFacade:
        """The workspace."""
        return self.root.files


class Roots:
    """The folders served to one actor.

    Args:
        roots: Relative paths are relative to the first; without roots, every path is refused.
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
        """The root for relative paths."""
        return self._roots[0]

    @property
    def folders(self) -> list[str]:
        """The absolute paths of all roots, in all spellings."""
        return list(dict.fromkeys(spelling for root in self._roots for spelling in root.spellings))

    def locate(self, raw_path: str) -> ServedPath:
        """Resolve an absolute or relative path, lexically; the workspace validates it later.

        Raises:
            AbsolutePathError: It is absolute and lies in none of the roots.
            PathTooLongError
        """
        if len(raw_path) > MAX_PATH_CHARACTERS:
            raise PathTooLongError(raw_path)
        text, is_folder = raw_path.replace("\\", "/"), names_folder(raw_path)
        if self._roots and not (text.startswith("/") or _DRIVE.match(text)):
            inside = "/".join(filter(None, (self.first.base, *_segments(text))))
            return ServedPath(root=self.first, path=inside, absolute=self.first.absolute(inside), is_folder=is_folder)
        segments = _segments(text)
        if _IS_WINDOWS or not raw_path.startswith("\\\\"):
            for form, spelling, root in self._longest_first:
                if _starts_with(segments, form):
                    rest = segments[len(form) :]
                    inside = "/".join(filter(None, (root.base, *rest)))
                    absolute = "/".join((spelling.rstrip("/"), *rest)) or "/"
                    return ServedPath(root=root, path=inside, absolute=absolute, is_folder=is_folder)
        raise AbsolutePathError(raw_path)

    def narrowed(self, folders: Iterable[tuple[str, ...]]) -> Roots:
        """Return the parts that these roots and the given folders have in common, named by the folders.

        Args:
            folders: The absolute paths of each folder: as given, and last with links resolved.
        """
        found: dict[tuple[int, str], Root] = {}
        for root in (root for spellings in folders for root in self._common(spellings)):
            known = found.setdefault((id(root.files), root.base), root)
            spellings = tuple(dict.fromkeys((*known.spellings, *root.spellings)))
            found[id(root.files), root.base] = structs.replace(known, spellings=spellings)
        return Roots(list(found.values()))

    def _common(self, spellings: tuple[str, ...]) -> Iterator[Root]:
        """Yield the part of a root at the folder, or else the roots inside the folder."""
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
        """Return the same folders for another actor, optionally with another `on_conflict` for unsaved text."""
        known = {
            id(files): files.for_actor(actor, on_conflict=on_conflict, ephemeral=ephemeral)
            for files in self._workspaces()
        }
        return Roots([structs.replace(root, files=known[id(root.files)]) for root in self._roots])

    async def recall(self) -> None:
        """Load what the actor had read in earlier openings."""
        for files in self._workspaces():
            await files.recall()

    def changed_since_read(self) -> tuple[ChangedFile, ...]:
        """Return the files that others have changed since the actor read them, by absolute path."""
        changed: list[ChangedFile] = []
        for files in self._workspaces():
            for each in files.changed_since_read():
                root = next((root for root in self._roots if root.files is files and root.holds(each.path)), None)
                if root is not None:  # otherwise it was read when more folders were served
                    changed.append(structs.replace(each, path=root.absolute(each.path)))
        return tuple(changed)

    def _workspaces(self) -> Iterable[FileToolsFacade]:
        return {id(root.files): root.files for root in self._roots}.values()


def _segments(text: str) -> tuple[str, ...]:
    return tuple(segment for segment in text.replace("\\", "/").split("/") if segment and segment != ".")


def _starts_with(segments: Sequence[str], root: Sequence[str]) -> bool:
    head = segments[: len(root)]
    return head == root or (_IS_WINDOWS and [*map(str.casefold, head)] == [*map(str.casefold, root)])
