"""Settings: their defaults, their sources in order, and the only place that reads the environment.

Order of precedence: arguments, `FILETOOLS_*` variables, `<state_dir>/settings.toml`, the user's configuration folder.
No file that a tool could write is ever a source.
"""

from __future__ import annotations

import os
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from filetools.errors import InvalidArgumentError
from filetools.models import STATE_DIRECTORY as STATE_DIRECTORY
from filetools.models import Durability, MirrorPolicy, Preset

MIB: Final = 1024 * 1024
ENVIRONMENT_PREFIX: Final = "FILETOOLS_"
SESSION_VARIABLE: Final = "FILETOOLS_SESSION"

DEFAULT_EXCLUDES: Final = (
    ".git",
    "node_modules",
    ".DS_Store",
    "Thumbs.db",
    "*.swp",
    "*.swo",
    ".env.local",
    ".env.*.local",
)
PROSE_FILES: Final = (
    "*.md",
    "*.markdown",
    "*.rst",
    "*.txt",
    "*.text",
    "!requirements*.txt",
    "!constraints*.txt",
    "!CMakeLists.txt",
)
PROTECTED_PATHS: Final = (
    ".git/**",
    ".gitmodules",
    ".vscode/**",
    ".idea/**",
    ".cursor/**",
    ".claude/**",
    ".mcp.json",
)


class DescriptorSettings(BaseModel):
    """How long texts become descriptors; the table `[file_descriptor]`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    enabled: bool = False
    """Whether long results become descriptors wherever there are tools to read them."""
    default_page_size: int = Field(default=4000, gt=0)
    """Most characters of a page."""
    max_direct_output_chars: int = Field(default=8000, gt=0)
    """Longest text of a result that stays as it is, in characters."""
    max_input_chars: int = Field(default=8000, gt=0)
    """Longest input of a person that stays as it is, in characters."""
    page_user_input: bool = True
    """Whether longer input of a person becomes a descriptor."""
    enable_references: bool = False
    """Whether what a model marks with `<ref id="…">` is kept."""
    body: Literal["auto", "xml"] = "auto"
    """"auto": frames quote texts as they are; "xml": escaped."""
    max_bytes: int = Field(default=256 * MIB, gt=0)
    """Longest text, and most of all texts, in bytes; beyond it those used least recently go."""

    @model_validator(mode="before")
    @classmethod
    def _name_what_was_meant(cls, given: Any) -> Any:
        for name in given if isinstance(given, Mapping) else ():
            if name not in cls.model_fields:
                near = get_close_matches(str(name), cls.model_fields, n=1) or [", ".join(cls.model_fields)]
                raise ValueError(f"unknown key {name!r}; did you mean {near[0]!r}?")
        return given


class Settings(BaseModel):
    """Every knob of an opened workspace; immutable once built."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    durability: Durability = "commit"
    """"commit": an acknowledged change survives a power cut; "relaxed": it survives a crash of the process."""
    mirror_policy: MirrorPolicy = "eventual"
    """"eventual": the mirror follows and catches up; "strict": a change is in both or in neither."""
    permissions: Preset = "allow"
    """What agents may do where no rule speaks: "allow", "ask", "guarded" (as "ask", deletions blocked), "read_only"."""
    protected_paths: tuple[str, ...] = PROTECTED_PATHS
    """Patterns whose every change needs an approval, by anybody."""
    exclude: tuple[str, ...] = DEFAULT_EXCLUDES
    """Patterns left out of recursive walks, watching and the mirror."""
    prose_files: tuple[str, ...] = PROSE_FILES
    """Names of files in which two changes of one line are merged by words; "!" takes names out again. Elsewhere by lines."""
    follow_symlinks: bool = False
    """Whether links that stay inside the root are followed; otherwise every link is refused."""
    hard_links: Literal["refuse", "break"] = "refuse"
    """A file with names outside the root is not replaced; with "break", any written name gets a file of its own."""
    lock_timeout_seconds: float = Field(default=30.0, gt=0)
    """Longest wait for the locks of one call."""
    max_read_bytes: int = Field(default=10 * MIB, gt=0)
    """Largest file that is read whole."""
    max_write_bytes: int = Field(default=1024 * MIB, gt=0)
    """Largest file that is written."""
    mirror_wait_seconds: float = Field(default=0.25, ge=0)
    """How long a call waits for an eventual mirror before leaving it behind."""
    mirror_probe_seconds: float = Field(default=5.0, gt=0)
    """First pause before a mirror that missed is tried again; doubles up to a minute."""
    watch: bool = True
    """Whether foreign changes are watched for while the workspace is open."""
    max_foreign_bytes: int = Field(default=64 * MIB, ge=0)
    """Foreign changes of larger files are recorded without keeping their bytes."""
    snapshot_max_file_bytes: int = Field(default=16 * MIB, ge=0)
    """Largest file whose bytes a checkpoint keeps; larger ones are in it by their hash alone, and named in the result."""
    snapshot_max_bytes: int = Field(default=1024 * MIB, ge=0)
    """Bytes that one checkpoint adds at most to what is kept already; what is beyond is in it by its hash alone."""
    auto_checkpoint: Literal["session", "off"] = "off"
    """"session": before the first change of each session a checkpoint is made; the last 20 such ones are kept."""
    retention_bytes: int = Field(default=1024 * MIB, ge=0)
    """Bytes of versions that are kept; beyond it the oldest go first, except what is still needed."""
    retention_records: int = Field(default=1_000_000, ge=0)
    """Records that are kept; the oldest go first."""
    retention_seconds: float | None = Field(default=None, gt=0)
    """Age at which records go; None keeps them as long as the other limits allow."""
    sync_after_seconds: float = Field(default=1.0, ge=0)
    """Pause after which files already covered by the journal are synced themselves."""
    worker_threads: int = Field(default=16, ge=1, le=256)
    """Threads for file work, and so the calls that can be at work at once."""
    tool_timeout_seconds: float = Field(default=30.0, gt=0, le=600)
    """Time limit of a tool call; waiting for locks and people is not counted."""
    approval_wait_seconds: float = Field(default=50.0, ge=0)
    """How long a call waits for a person before it fails with APPROVAL_REQUIRED; the request stays open longer."""
    max_text_lines: int = Field(default=2000, ge=1)
    """Most lines that a model gets at once of a text; it goes on reading where it was cut."""
    max_text_characters: int = Field(default=50_000, ge=1)
    """Most characters that a model gets at once of a text."""
    allow_roots: tuple[str, ...] = ()
    """Folders outside the workspace that the tools of the group `context` may look into, besides registered projects."""
    announce_instructions: bool = True
    """Whether agents are told once of instruction files below the root, when they first read or list there."""
    file_descriptor: DescriptorSettings = DescriptorSettings()
    """What becomes of longer texts, where descriptors are switched on."""

    def is_prose(self, path: str) -> bool:
        """Whether a file is prose by its name, whatever the case of its letters; the last pattern that matches says."""
        name = path.rpartition("/")[2].casefold()
        found = False
        for pattern in self.prose_files:
            if fnmatchcase(name, pattern.removeprefix("!").casefold()):
                found = not pattern.startswith("!")
        return found


def load_settings(
    arguments: Mapping[str, Any] | None = None,
    *,
    state_directory: Path | None = None,
    user_directory: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> tuple[Settings, dict[str, str]]:
    """Build the settings from all sources.

    Args:
        arguments: Values given by the program; None values count as not given.
        state_directory: Where `settings.toml` of this workspace lies.
        user_directory: The user's configuration folder for filetools.
        environment: Variables to read; by default those of the process.

    Returns:
        The settings and, for each field, the name of the source it came from.

    Raises:
        InvalidArgumentError: An unknown name or a value out of range, naming the source.
    """
    variables = os.environ if environment is None else environment
    layers: list[tuple[str, Mapping[str, Any]]] = []
    if user_directory is not None:
        layers.append(("user settings.toml", _read_toml(user_directory / "settings.toml")))
    if state_directory is not None:
        layers.append(("workspace settings.toml", _read_toml(state_directory / "settings.toml")))
    layers.append(("environment", _from_environment(variables)))
    layers.append(("argument", {name: value for name, value in (arguments or {}).items() if value is not None}))
    merged: dict[str, Any] = {}
    sources = dict.fromkeys(Settings.model_fields, "default")
    for source, values in layers:
        merged.update(values)
        sources.update(dict.fromkeys(values, source))
    return _validated(merged, sources), sources


def _validated(values: Mapping[str, Any], sources: Mapping[str, str]) -> Settings:
    try:
        return Settings.model_validate(dict(values))
    except ValidationError as exc:
        first = exc.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "settings"
        raise InvalidArgumentError(f"Setting {name!r} from {sources.get(name, 'argument')}: {first['msg']}") from exc


def _read_toml(path: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        raise InvalidArgumentError(f"Cannot read {path.name} of the settings: {exc}") from exc


def forces_terminal() -> bool:
    """Whether the environment asks programs to write as to a terminal wherever they write, in the words that rich knows."""
    return bool(os.environ.get("FORCE_COLOR")) or os.environ.get("TTY_COMPATIBLE") == "1"


def session_logs_folder() -> Path:
    """Return the folder that holds the logs of coding agents, one folder a project; in NFC, and perhaps not there.

    It is `projects` in what `CLAUDE_CONFIG_DIR` names, else in `~/.claude`. Where no home folder is known the root of the
    file system counts as one, as container runtimes have it: a relative path would find logs in whichever folder one is in.
    """
    try:
        folder = os.environ.get("CLAUDE_CONFIG_DIR") or str(Path.home() / ".claude")
    except RuntimeError:
        folder = str(Path("/.claude").absolute())
    return Path(unicodedata.normalize("NFC", folder), "projects")


def variables(names: Iterable[str]) -> dict[str, str]:
    """Return those variables of the process that are set, for a child process that gets no others."""
    return {name: os.environ[name] for name in names if name in os.environ}


def named_session() -> str | None:
    """Return the session that the environment names for what this process does, as that of a run does; None if none."""
    return session_name(os.environ.get(SESSION_VARIABLE, "")) or None


def session_name(text: str) -> str:
    """Return the name of a session as all that read it from the environment know it: trimmed, and storable."""
    # Bytes that are no UTF-8 stand in the environment as halves of pairs, which nothing can store.
    return text.encode("utf-8", "replace").decode().strip()


def environment_of_run(session: str) -> dict[str, str]:
    """Return the environment of an agent's process: all variables of this one, and the session of its run."""
    return {**os.environ, SESSION_VARIABLE: session}


def _from_environment(variables: Mapping[str, str]) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for name, field in Settings.model_fields.items():
        text = variables.get(ENVIRONMENT_PREFIX + name.upper())
        if text is not None:
            is_list = "tuple" in str(field.annotation)
            found[name] = tuple(part.strip() for part in text.split(",") if part.strip()) if is_list else text
    return found
