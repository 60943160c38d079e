"""The package as it is installed: its name on the index, its version, and what an extra lacks."""

from __future__ import annotations

from contextlib import suppress
from importlib.util import find_spec
from typing import Final

DISTRIBUTION: Final = "agent-filetools"
"""Its name on the package index, where `filetools` is another project; import name and command are `filetools`."""


def install_command(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def installed_version(package: str = DISTRIBUTION) -> str | None:
    """Return the version of an installed package, or None."""
    from importlib.metadata import PackageNotFoundError, version  # takes longer than the rest of a quick command

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def version_line() -> str:
    """Return what `filetools --version` prints."""
    return f"filetools {installed_version() or '0'}"


def require_extra(extra: str, part: str, *modules: str) -> None:
    """Do nothing if the modules that an extra brings can be imported.

    Args:
        extra: Name of the extra.
        part: What needs it, in words.
        modules: Top-level names.

    Raises:
        ModuleNotFoundError: One of them is missing; a line that names it, and the command that installs the extra.
    """
    for module in modules:
        with suppress(ModuleNotFoundError, ValueError):  # refused by a finder; in sys.modules without a spec
            if find_spec(module) is not None:
                continue
        raise ModuleNotFoundError(f"{part} needs the package {module!r}: {install_command(extra)}", name=module)
