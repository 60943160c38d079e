"""Decides whether an actor may call a tool on a path now: presets, the rules that refine them, and the file of the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Final, Literal, get_args

from msgspec import DecodeError, Meta, Struct
from msgspec.json import decode

from filetools.errors import InvalidArgumentError, StateDamagedError
from filetools.models.records import Actor
from filetools.models.words import Preset
from filetools.paths.names import fold_name
from filetools.paths.patterns import ExcludeRules, compile_patterns
from filetools.paths.protected import matches_hidden, matches_protected
from filetools.paths.workspace_path import WorkspacePath
from filetools.settings import HIDDEN_PATHS, PROTECTED_PATHS

Level = Literal["auto", "prompt", "block"]

READING_TOOLS: Final = frozenset(
    (
        "read_file", "read_multiple", "list_files", "search_files", "glob_files", "grep_files", "file_info", "exists",
        "versions", "diff", "provenance", "changes", "watch_changes", "read_fd", "search_fd", "list_fds",
        "get_instance_status", "get_git_state", "get_readme", "get_instructions", "get_recent_files", "get_dependencies",
        "discover_projects", "search_code", "get_recent_sessions",
        "list_runs", "get_run", "checkpoint",
    )
)  # fmt: skip
"""Tools that `ask` allows: they read, list, search or return facts; or, like `checkpoint`, change no file."""
DELETING_TOOLS: Final = frozenset(("delete_file", "delete_directory", "delete_multiple"))
"""Tools that `guarded` blocks."""
SUBTREE_TOOLS: Final = frozenset(("delete_file", "delete_directory", "delete_multiple", "move_file"))
"""Tools that may remove a whole folder, so that a rule about a path below applies to them at the folder, too."""
_SAME_ACT: Final = {"create_file": "write_file"}
"""Tools to which the rules of another tool also apply."""


def preset_level(preset: Preset, tool: str, *, change: bool) -> Level:
    """Return the level of a preset for a tool.

    Args:
        preset: The preset in force.
        tool: Name of the tool; unknown ones are asked about like changes.
        change: True if the call changes anything; it counts for more than the tool's name.
    """
    if preset == "allow":
        return "auto"
    if (preset == "read_only" and change) or (preset == "guarded" and tool in DELETING_TOOLS):
        return "block"
    return "auto" if tool in READING_TOOLS and not change else "prompt"


class Rule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One person's decision for a tool and the paths of a glob.

    A rule that blocks or asks matches every spelling of a path (case, composition, ignorable code points) and the folders
    that hold it; one that allows matches only the exact spelling.

    Raises:
        InvalidArgumentError: An empty tool, a bad glob, or a level that does not exist.
    """

    tool: str
    """Name of a tool, or a glob of names such as "delete_*"."""
    path: str
    """Glob as in exclude patterns: without slash it matches a name at any depth, and all that is below it."""
    level: Level

    def __post_init__(self) -> None:
        if not self.tool.strip():
            raise InvalidArgumentError("A permission rule needs the name of a tool")
        if self.level not in get_args(Level):
            raise InvalidArgumentError(
                f"The level of a permission rule must be auto, prompt or block, not {self.level!r}"
            )
        _compiled(self.path, self.level == "auto")

    def applies(self, tool: str, path: str) -> bool:
        """True if this rule applies to a call of `tool` on `path` ("" is the root)."""
        if not (fnmatchcase(tool, self.tool) or fnmatchcase(_SAME_ACT.get(tool, tool), self.tool)):
            return False
        if self.path in ("*", "**"):
            return True
        globs, stem = _compiled(self.path, self.level == "auto")
        if self.level == "auto":
            return bool(path) and globs.matches(path, False)
        folded = _fold(path)
        if tool in SUBTREE_TOOLS and _holds(folded, stem):
            return True
        return bool(folded) and globs.matches(folded, True)


@lru_cache(None)  # unbounded: each rule is tested on every path, and would be compiled again each time
def _compiled(path: str, is_exact: bool) -> tuple[ExcludeRules, str]:
    """Return the compiled glob of a rule, and its text before the first wildcard."""
    glob = path.replace("\\", "/")
    if not is_exact:
        # A rule against changes below a folder includes the folder.
        glob = _fold(glob.removesuffix("/**") or glob)
    return compile_patterns((glob,)), _literal_stem(glob)


def rules_level(rules: Sequence[Rule], tool: str, path: str) -> Level | None:
    """Return the level of the rules for a call: a block wins, otherwise the last matching rule; None if none matches."""
    levels: list[Level] = [rule.level for rule in rules if rule.applies(tool, path)]
    if "block" in levels:
        return "block"
    return levels[-1] if levels else None


def _fold(path: str) -> str:
    return "/".join(fold_name(segment) or segment for segment in path.split("/"))


def _literal_stem(glob: str) -> str:
    """Return the segments before the first wildcard of a glob that starts at the root; "" if it matches anywhere."""
    body = glob.rstrip("/")
    if "/" not in body:
        return ""
    segments = body.removeprefix("/").split("/")
    return "/".join(takewhile(lambda segment: "*" not in segment and "?" not in segment, segments))


def _holds(folder: str, stem: str) -> bool:
    return bool(stem) and (not folder or stem.startswith(f"{folder}/"))


class SavedPermissions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of the file that people write and filetools only reads. Reading blocks: call it in a worker thread."""

    format: Annotated[int, Meta(ge=1, le=1)] = 1
    preset: Preset | None = None
    """A preset given at opening takes precedence."""
    rules: tuple[Rule, ...] = ()
    """In order."""

    @classmethod
    def read(cls, path: Path) -> SavedPermissions:
        """Read a file; empty if there is none yet.

        Raises:
            StateDamagedError: It cannot be read or understood. Falling back to nothing would silently drop a block.
        """
        try:
            return decode(path.read_bytes(), type=cls)
        except FileNotFoundError:
            return cls()
        except OSError as exc:
            raise StateDamagedError(f"{path.name} cannot be read ({exc.strerror})") from exc
        except (DecodeError, UnicodeDecodeError, RecursionError) as exc:
            raise StateDamagedError(f"{path.name} is not a list of permissions ({exc})") from exc


PolicyDecision = Literal["auto", "prompt", "block", "session", "protected", "hidden"]
"""auto, prompt and block are levels; session: trusted for this run; protected: each change of the path needs an approval of
its own; hidden: agents neither read nor change its content."""

REMEMBERED_PATHS: Final = 4096
_SHOWING_NO_CONTENT: Final = frozenset(
    (
        "list_files", "search_files", "glob_files", "file_info", "exists", "changes", "watch_changes", "create_directory",
        "delete_file", "delete_directory", "delete_multiple", "undo_changes", "restore",
    )
)  # fmt: skip
"""Tools that show an agent only the name of a hidden path."""


class PermissionPolicy:
    """Preset, rules, protected paths and trust of one opened workspace.

    Presets and rules bind agents and foreign programs. People, and filetools itself, are asked only about changes of
    protected paths.

    Args:
        preset: Applies if no rule matches.
        rules: Refinements; a block, by a rule or the preset, wins over everything, otherwise the last matching rule.
        protected: Globs of paths whose every change needs an approval of its own.
        hidden: Globs of paths whose content agents neither see nor change.
    """

    def __init__(
        self,
        preset: Preset,
        rules: Iterable[Rule] = (),
        protected: Iterable[str] = PROTECTED_PATHS,
        *,
        hidden: Iterable[str] = HIDDEN_PATHS,
    ) -> None:
        self.preset: Preset = preset
        self.rules = tuple(rules)
        self._hidden = tuple(hidden)
        self._matches_hidden = partial(matches_hidden, patterns=self._hidden)
        self.trust = RunTrust()
        # One lookup instead of folding and matching: this is the first step of every call.
        self.is_protected: Callable[[WorkspacePath], bool] = lru_cache(REMEMBERED_PATHS)(
            partial(matches_protected, patterns=tuple(protected))
        )
        self.is_hidden: Callable[[WorkspacePath], bool] = lru_cache(REMEMBERED_PATHS)(self._matches_hidden)
        self._level = lru_cache(REMEMBERED_PATHS)(self._find_level)

    def use(self, preset: Preset, rules: Iterable[Rule]) -> None:
        """Replace the preset and all rules, from the next check on."""
        self.preset = preset
        self.rules = tuple(rules)
        self._level.cache_clear()

    def check(
        self, tool: str, path: WorkspacePath, *, actor: Actor, change: bool, must_ask: bool = False
    ) -> PolicyDecision:
        """Decide about one call on one path.

        Args:
            tool: Name of the tool, known or not.
            path: Path it works on; the root if it names none.
            actor: The caller.
            change: True if it changes something.
            must_ask: True to apply "ask" in place of "allow", because a person wants to be asked.
        """
        is_agent = actor.kind == "agent"
        level: Level | Literal["hidden"] = "auto"
        if actor.kind not in ("editor", "system"):
            level = self._level(tool, path, change, must_ask, is_agent)
        if level in ("hidden", "block"):
            return level
        if change and self.is_protected(path):
            # Trust in a tool does not extend to protected paths: each is its own decision.
            return "session" if self.trust.covers(actor, tool, path) else "protected"
        return "session" if level == "prompt" and self.trust.covers(actor, tool) else level

    def hides(self, tool: str, path: WorkspacePath, actor: Actor) -> bool:
        """True if a tool would show an agent the content of a hidden file, or change it."""
        return actor.kind == "agent" and tool not in _SHOWING_NO_CONTENT and self.is_hidden(path)

    def withholding(self, actor: Actor, *tools: str) -> Callable[[WorkspacePath], bool] | None:
        """Return a test for paths that not all of these tools may read; None if they may read all."""
        if not self.rules:  # no preset blocks reading
            is_kept = bool(self._hidden) and actor.kind == "agent" and not _SHOWING_NO_CONTENT.issuperset(tools)
            return self._matches_hidden if is_kept else None

        def is_withheld(path: WorkspacePath) -> bool:
            checks = (self.check(tool, path, actor=actor, change=False) for tool in tools)
            return not all(decision in ("auto", "session") for decision in checks)

        return is_withheld

    def _find_level(
        self, tool: str, path: WorkspacePath, is_change: bool, must_ask: bool, is_agent: bool
    ) -> Level | Literal["hidden"]:
        if is_agent and tool not in _SHOWING_NO_CONTENT and self.is_hidden(path):
            return "hidden"
        in_force: Preset = "ask" if must_ask and self.preset == "allow" else self.preset
        preset = preset_level(in_force, tool, change=is_change)
        if preset == "block":
            return "block"
        return rules_level(self.rules, tool, path) or preset


class RunTrust:
    """Tools, and single protected paths, that runs may use without asking."""

    def __init__(self) -> None:
        self._trusted: set[tuple[str, str, str | None, str, str | None]] = set()

    def add(self, actor: Actor, tool: str, path: str | None = None) -> None:
        """Trust an actor's run with a tool.

        Args:
            actor: Whose run; its kind, id and session identify the run.
            tool: The tool.
            path: The protected path it is trusted with; None for all paths that are not protected.
        """
        self._trusted.add((actor.kind, actor.id, actor.session, tool, path))

    def covers(self, actor: Actor, tool: str, path: str | None = None) -> bool:
        """True if this run was trusted with exactly that."""
        return bool(self._trusted) and (actor.kind, actor.id, actor.session, tool, path) in self._trusted
