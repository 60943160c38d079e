"""What pyproject.toml declares, and under which names it is imported."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Final

REPOSITORY: Final = Path(__file__).resolve().parents[2]
"""The folder that holds pyproject.toml."""

IMPORT_NAMES: Final[dict[str, frozenset[str]]] = {
    "mcp": frozenset({"mcp", "mcp_types"}),
    "openai-agents": frozenset({"agents"}),
    "opentelemetry-api": frozenset({"opentelemetry"}),
    "pydantic": frozenset({"pydantic", "pydantic_core"}),
    "pydantic-ai-slim": frozenset({"pydantic_ai"}),
}
"""Import names of the packages that are imported under another name than their own."""

_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
_FOR_DEVELOPERS: Final = ("dev", "frameworks")


@cache
def core_names() -> frozenset[str]:
    """Return the import names of what every installation has."""
    return _import_names(project()["dependencies"])


@cache
def extra_names() -> frozenset[str]:
    """Return the import names of what only the extras bring."""
    extras: dict[str, list[str]] = project()["optional-dependencies"]
    requirements = [each for name, several in extras.items() if name not in _FOR_DEVELOPERS for each in several]
    return _import_names(requirements) - core_names()


@cache
def project() -> dict[str, Any]:
    """Return the table `project` of pyproject.toml."""
    table: dict[str, Any] = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


def _import_names(requirements: list[str]) -> frozenset[str]:
    found = [_NAME.match(requirement) for requirement in requirements]
    names = [match[0].lower() for match in found if match is not None and match[0] != "agent-filetools"]
    return frozenset().union(*(IMPORT_NAMES.get(name, {name.replace("-", "_")}) for name in names))
