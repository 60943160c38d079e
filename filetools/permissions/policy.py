"""Decides whether an actor may call a tool on a path now, whether a person must be asked, or whether it is blocked."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final, Literal

from filetools.models.records import Actor
from filetools.models.words import Preset
from filetools.paths.protected import matches_hidden, matches_protected
from filetools.paths.workspace_path import WorkspacePath
from filetools.permissions.rules import Level, Rule, preset_level, rules_level
from filetools.settings import HIDDEN_PATHS, PROTECTED_PATHS

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
        self._protected = tuple(protected)
        self._hidden = tuple(hidden)
        self.trust = RunTrust()
        # One lookup instead of folding and matching: this is the first step of every call.
        self.is_protected: Callable[[WorkspacePath], bool] = lru_cache(REMEMBERED_PATHS)(self._matches_protected)
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

    def _matches_protected(self, path: WorkspacePath) -> bool:
        return matches_protected(path, self._protected)

    def _matches_hidden(self, path: WorkspacePath) -> bool:
        return matches_hidden(path, self._hidden)

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


MAX_TRUSTED_RUNS: Final = 1024
"""Runs whose trust is remembered; for an older one the person is asked again."""

_Run = tuple[str, str, str | None]


class RunTrust:
    """Tools, and single protected paths, that runs may use without asking."""

    __slots__ = ("_runs",)

    def __init__(self) -> None:
        self._runs: OrderedDict[_Run, set[tuple[str, str | None]]] = OrderedDict()

    def add(self, actor: Actor, tool: str, path: str | None = None) -> None:
        """Trust an actor's run with a tool.

        Args:
            actor: Whose run; its kind, id and session identify the run.
            tool: The tool.
            path: The protected path it is trusted with; None for all paths that are not protected.
        """
        run = _run_of(actor)
        self._runs.setdefault(run, set()).add((tool, path))
        self._runs.move_to_end(run)
        if len(self._runs) > MAX_TRUSTED_RUNS:
            self._runs.popitem(last=False)

    def covers(self, actor: Actor, tool: str, path: str | None = None) -> bool:
        """True if this run was trusted with exactly that."""
        if not self._runs:
            return False
        return (tool, path) in self._runs.get(_run_of(actor), ())


def _run_of(actor: Actor) -> _Run:
    return (actor.kind, actor.id, actor.session)
