"""What is installed beside filetools, what is missing, and how to install it."""

from __future__ import annotations

import platform
import re
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import requires
from shutil import which
from typing import Final

from filetools.app.surroundings import Check
from filetools.distribution import DISTRIBUTION, install_command, installed_version
from filetools.search.contents.candidates import find_ripgrep

_REQUIREMENT: Final = re.compile(r"([\w.-]+)(?:\[[^]]*\])?[^;]*;\s*extra\s*==\s*['\"]([\w-]+)['\"]")
_NOT_OFFERED: Final = ("all", "dev", "frameworks", "peers")
_PURPOSES: Final = {
    "acp": "editors that drive agents",
    "cli": "this command",
    "cloud": "trees in object stores",
    "context": "what Python projects depend on",
    "deepagents": "agents built with deepagents",
    "docs": "building the documents as a site",
    "editor": "the page for people",
    "langchain": "agents built with LangChain or LangGraph",
    "mcp": "filetools mcp",
    "openai-agents": "agents built with the OpenAI Agents SDK",
    "otel": "traces",
    "postgres": "one workspace on several machines",
    "pydantic-ai": "agents built with pydantic-ai",
    "search": "regular expressions, and ripgrep for fast searching",
    "server": "filetools serve",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Extra:
    """One extra of the package."""

    name: str
    present: tuple[str, ...]
    """Its packages that are installed."""
    missing: tuple[str, ...]

    @property
    def install(self) -> str:
        """The command that installs it."""
        return install_command(self.name)


def facts() -> dict[str, str | None]:
    """Return the versions of what everything else stands on."""
    return {
        "filetools": installed_version(),
        "python": f"{platform.python_version()} ({sys.implementation.name})",
        "platform": platform.platform(terse=True),
        "sqlite": sqlite3.sqlite_version,
    }


def programs() -> list[Check]:
    """Look for the programs that filetools makes use of where they are."""
    rg, git = find_ripgrep(), which("git")
    return [
        Check(name="rg", state="ok", text="found")
        if rg
        else Check(name="rg", state="note", text="searching is slower", remedy=install_command("search")),
        Check(name="git", state="ok", text="found")
        if git
        else Check(
            name="git", state="note", text="nothing is known of the history", remedy="install git with your system"
        ),
    ]


def extras() -> Iterator[Extra]:
    """Yield each optional extra with the packages of it that are installed, and those that are missing."""
    wanted: dict[str, list[str]] = {}
    for requirement in requires(DISTRIBUTION) or ():
        match = _REQUIREMENT.fullmatch(requirement)
        if match and match[2] not in _NOT_OFFERED and match[1] != DISTRIBUTION:
            wanted.setdefault(match[2], []).append(match[1])
    for name, packages in wanted.items():
        present = tuple(package for package in packages if installed_version(package) is not None)
        yield Extra(
            name=name, present=present, missing=tuple(package for package in packages if package not in present)
        )


def installation() -> list[Check]:
    """Return what is installed, and how to install the rest."""
    return [*programs(), *(_check(extra) for extra in extras())]


def _check(extra: Extra) -> Check:
    purpose = _PURPOSES.get(extra.name, "")
    if not extra.missing:
        return Check(name=f"[{extra.name}]", state="ok", text=purpose)
    lacking = f", lacks {', '.join(extra.missing)}" if extra.present else ""
    return Check(name=f"[{extra.name}]", state="note", text=f"{purpose}{lacking}", remedy=extra.install)
