"""The configuration of descriptors: checked, with all that is odd about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from filetools.errors import InvalidArgumentError
from filetools.settings import DescriptorSettings, descriptor_settings

SWITCHES: Final = ("read_fd", "fd_to_file", "search_fd")
"""Tools of which one must be there for descriptors to be of use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A checked configuration."""

    settings: DescriptorSettings
    is_on: bool
    """Whether long texts become descriptors."""
    warnings: tuple[str, ...] = ()


def configured(config: Mapping[str, Any]) -> Configuration:
    """Check a configuration as programs of llmproc have it, from TOML or a dict.

    Args:
        config: With the table `file_descriptor`, and the list `enabled` of tool names in the table `tools`.

    Raises:
        InvalidArgumentError: A key is unknown (names the nearest), a value is wrong, or descriptors are enabled without a tool
            that reads them.
    """
    given = config.get("file_descriptor")
    tools = config.get("tools")
    enabled = tools.get("enabled") if isinstance(tools, Mapping) else None
    return checked(descriptor_settings(given or {}), enabled or (), is_given=bool(given))


def checked(settings: DescriptorSettings, tools: Sequence[str], *, is_given: bool) -> Configuration:
    """Tell whether descriptors are on where there are some tools.

    Args:
        settings: Theirs.
        tools: Names of the tools.
        is_given: Whether somebody has set any of the settings.

    Raises:
        InvalidArgumentError: They are enabled without a tool that reads them.
    """
    has_tools = any(name in tools for name in SWITCHES)
    known = ", ".join(SWITCHES)
    if settings.enabled and not has_tools:
        raise InvalidArgumentError(
            f"file_descriptor.enabled needs one of the tools {known}",
            suggested_action="Offer them, at the command line with --tools core,descriptors, or set enabled to false.",
        )
    warnings = []
    if is_given and not has_tools:
        warnings.append(f"file_descriptor has no effect without one of the tools {known}")
    if settings.default_page_size > settings.max_direct_output_chars:
        warnings.append(
            f"file_descriptor.default_page_size ({settings.default_page_size}) is over max_direct_output_chars"
            f" ({settings.max_direct_output_chars}): a page holds more than a text that stays as it is"
        )
    return Configuration(settings=settings, is_on=has_tools, warnings=tuple(warnings))
