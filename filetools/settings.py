"""Settings: their defaults, their sources in order, and the only place that reads the environment.

Order of precedence: arguments, `FILETOOLS_*` variables, the user's file for this root, the user's general file. A
`settings.toml` in the root's own state directory may have come with the tree: it only narrows what these allow.
"""

from __future__ import annotations

import logging
import os
import re
import stat
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from functools import cache, partial
from pathlib import Path
from shutil import which
from typing import Annotated, Any, Final, Literal, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

from msgspec import Meta, ValidationError, convert

from filetools.errors import InvalidArgumentError
from filetools.models.words import STATE_DIRECTORY as STATE_DIRECTORY
from filetools.models.words import Durability, MirrorPolicy, Preset

_log = logging.getLogger(__name__)
_Kind: TypeAlias = "type[Settings | DescriptorSettings]"

MIB: Final = 1024 * 1024
SETTINGS_FILE: Final = "settings.toml"
ENVIRONMENT_PREFIX: Final = "FILETOOLS_"
SESSION_VARIABLE: Final = "FILETOOLS_SESSION"
MODEL_VARIABLE: Final = "FILETOOLS_MODEL"
"""Which model a client of `serve --agent` asked for."""

DEFAULT_EXCLUDES: Final = (
    ".git/",
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
    # Version control: hooks, filters and drivers run commands.
    ".git/**", ".gitmodules", ".gitattributes", ".hg/**", ".svn/**", ".jj/**", ".bzr/**",
    # Editors: tasks, launchers, and settings that are programs.
    ".vscode/**", "*.code-workspace", ".vs/**", ".idea/**", ".fleet/**", ".zed/**", ".nova/**", ".helix/**",
    ".nvim.lua", ".nvimrc", ".vimrc", ".lvimrc", ".exrc", ".dir-locals.el", ".dir-locals-2.el", "*.sublime-project",
    "*.sublime-workspace", "*.sublime-build",
    # Agents: their servers, hooks and permissions.
    ".mcp.json", ".cursor/**", ".claude/**", ".codex/**", ".gemini/**", ".roo/**", ".roomodes", ".kiro/**",
    ".windsurf/**", ".continue/**", ".continuerc.json", ".amazonq/**", ".cline/**", ".kilocode/**", ".aider*",
    ".opencode/**", "opencode.json", "opencode.jsonc", ".junie/**", ".qwen/**", ".trae/**", ".augment/**", ".goose/**",
    ".crush.json", "crush.json", ".factory/**", ".amp/**", ".copilot/**", ".agents/**",
    # Hooks of repositories.
    ".husky/**", ".githooks/**", "lefthook.*", ".lefthook.*", "lefthook-local.*", ".lefthook-local.*", ".lefthook/**",
    ".pre-commit-config.y*ml", ".pre-commit-hooks.y*ml", ".overcommit.yml", ".lintstagedrc*", "lint-staged.config.*",
    # Continuous integration: runs with the repository's rights.
    ".github/workflows/**", ".github/actions/**", ".gitlab-ci.yml", ".gitlab/ci/**", ".circleci/**", ".travis.yml",
    "Jenkinsfile*", "azure-pipelines*.y*ml", ".azure-pipelines/**", ".buildkite/**", ".drone.y*ml", ".woodpecker*",
    ".cirrus.*", "appveyor.yml", ".appveyor.yml", "bitbucket-pipelines.yml", ".semaphore/**", ".teamcity/**", ".gitea/**",
    ".forgejo/**", ".builds/**", ".build.yml", ".tekton/**", "cloudbuild.y*ml", "buildspec.y*ml",
    # Containers that editors start.
    ".devcontainer/**", ".devcontainer.json", ".gitpod*", ".idx/**", "devfile.yaml", ".devfile.yaml",
    # Files that shells and tools load on entering a folder.
    ".envrc", ".direnv/**", "mise*.toml", ".mise*.toml", ".mise/**", ".config/mise/**", ".config/mise*.toml", ".autoenv*",
    ".flox/**", "devenv.nix", "devbox.json", ".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv", ".zprofile",
    ".yarnrc*",
)  # fmt: skip
HIDDEN_PATHS: Final = (
    ".env", ".env.*", "!.env.example", "!.env.*.example", "!.env.sample", "!.env.template", "!.env.dist", "!.env.defaults",
    "*.pem", "*.key", "*.p8", "*.p12", "*.pfx", "*.ppk", "*.jks", "*.keystore", "*.kdbx", "*.agekey",
    "id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", ".gnupg/**",
    ".netrc", "_netrc", ".pypirc", ".pgpass", ".my.cnf", ".htpasswd", ".git-credentials", ".aws/credentials",
    ".docker/config.json", ".kube/config", ".gem/credentials", ".cargo/credentials*", ".config/gcloud/**",
    ".config/gh/hosts.yml", "credentials.json", "client_secret*.json", "service-account*.json", ".vault-token",
    "credentials.tfrc.json",
)  # fmt: skip


_STRICTEST_FIRST: Final[Mapping[str, tuple[Any, ...]]] = {
    "permissions": ("read_only", "guarded", "ask", "allow"),
    "follow_symlinks": (False, True),
    "hard_links": ("refuse", "break"),
    "announce_instructions": (False, True),
}
_EXTENDED: Final = ("protected_paths", "hidden_paths")


def _extended(mine: Iterable[str], theirs: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*mine, *(each for each in theirs if not each.startswith("!")))))


_NARROWER: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    **{name: partial(min, key=order.index) for name, order in _STRICTEST_FIRST.items()},
    **dict.fromkeys(("max_read_bytes", "max_write_bytes", "max_text_lines", "max_text_characters"), min),
    **dict.fromkeys(_EXTENDED, _extended),
}
"""What applies of the user's value and the tree's, for the settings that a tree can narrow; all others are ignored."""
_IN_TREE: Final = "settings.toml in the tree"
_MOST_TREE_BYTES: Final = 64 * 1024
_MOST_DOTS: Final = 500
"""On one line of TOML and one side of its "="; a list of patterns has fewer."""


def _checked(kind: _Kind, given: Mapping[str, Any], sources: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Validate and convert values of settings.

    Args:
        kind: The class of the settings.
        given: By name.
        sources: The source of each value, for errors.

    Raises:
        InvalidArgumentError: A name is unknown (names the nearest), or a value is wrong.
    """
    defaults = {each.name: each.default for each in fields(kind)}
    return {
        name: value if value is defaults.get(name, given)
        else _converted(kind, name, value, "" if sources is None else f" from {sources.get(name, 'argument')}")
        for name, value in given.items()
    }  # fmt: skip


def _converted(kind: _Kind, name: str, value: Any, origin: str) -> Any:
    is_table = kind is DescriptorSettings
    types = _types(is_table)
    place = f"file_descriptor.{name}" if is_table else name
    about = f"Setting {place!r}{origin}"
    if name not in types:
        from difflib import get_close_matches  # only needed for misspelt names

        near = get_close_matches(name, types, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known are the fields of filetools.settings.{kind.__name__}"
        raise InvalidArgumentError(f"{about}: unknown key {name!r}; {hint}")
    if name == "file_descriptor" and isinstance(value, Mapping):
        sources = dict.fromkeys(value, origin.removeprefix(" from ")) if origin else None
        return DescriptorSettings(**_checked(DescriptorSettings, value, sources))
    try:
        # Environment variables are only text; the table, which llmproc validates strictly, has typed values.
        return convert(value, types[name], strict=is_table)
    except ValidationError as exc:
        named = f" ({ENVIRONMENT_PREFIX}{name.upper()})" if origin == " from environment" else ""
        raise InvalidArgumentError(f"{about}{named}: {value!r} is not {_accepted(types[name], is_table)}") from exc


def _accepted(kind: Any, is_strict: bool) -> str:
    """Describe the values that a type accepts."""
    if get_origin(kind) is Union:
        kind = get_args(kind)[0]
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(map(repr, get_args(kind)))
    base, limits = (kind.__origin__, kind.__metadata__[0]) if get_origin(kind) is Annotated else (kind, Meta())
    truths = "true or false" if is_strict else "true, false, 1 or 0"
    words = {bool: truths, int: "a whole number", float: "a number", DescriptorSettings: "a table"}
    bounds = {"more than": limits.gt, "at least": limits.ge, "at most": limits.le}
    range_ = " and ".join(f"{words} {bound}" for words, bound in bounds.items() if bound is not None)
    return words.get(base, "a list of texts") + f" of {range_}" * bool(range_)


@cache
def _types(is_table: bool) -> dict[str, Any]:
    return get_type_hints(DescriptorSettings if is_table else Settings, include_extras=True)


class _Validated:
    """Settings whose values are validated and converted when they are made."""

    def __post_init__(self) -> None:
        for name, value in _checked(cast(_Kind, type(self)), vars(self)).items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, kw_only=True)
class DescriptorSettings(_Validated):
    """How long texts become descriptors; the table `[file_descriptor]`.

    Raises:
        InvalidArgumentError: A value has the wrong type, or is out of range.
    """

    enabled: bool = False
    """Whether long results become descriptors wherever there are tools to read them."""
    default_page_size: Annotated[int, Meta(gt=0)] = 4000
    """Most characters of a page."""
    max_direct_output_chars: Annotated[int, Meta(gt=0)] = 8000
    """Longest text of a result that stays as it is, in characters."""
    max_input_chars: Annotated[int, Meta(gt=0)] = 8000
    """Longest input of a person that stays as it is, in characters."""
    page_user_input: bool = True
    """Whether longer input of a person becomes a descriptor."""
    enable_references: bool = False
    """Whether what a model marks with `<ref id="…">` is kept."""
    body: Literal["auto", "xml"] = "auto"
    """"auto": frames quote texts as they are; "xml": escaped."""
    max_bytes: Annotated[int, Meta(gt=0)] = 256 * MIB
    """Most bytes of one text and of all together; beyond it the least recently used go."""


@dataclass(frozen=True, kw_only=True)
class Settings(_Validated):
    """All settings of an opened workspace. Immutable.

    Raises:
        InvalidArgumentError: A value has the wrong type, or is out of range.
    """

    durability: Durability = "commit"
    """"commit": an acknowledged change survives a power cut; "relaxed": it survives a crash of the process."""
    mirror_policy: MirrorPolicy = "eventual"
    """"eventual": the mirror follows and catches up; "strict": a change is in both or in neither."""
    permissions: Preset = "allow"
    """What agents may do where no rule applies: "allow", "ask", "guarded" (as "ask", deletions blocked), "read_only"."""
    protected_paths: tuple[str, ...] = PROTECTED_PATHS
    """Patterns of paths; every change of one, by anybody, needs an approval."""
    hidden_paths: tuple[str, ...] = HIDDEN_PATHS
    """Patterns of files whose content agents neither read nor change; "!" takes paths out again, the last match counts."""
    exclude: tuple[str, ...] = DEFAULT_EXCLUDES
    """Patterns left out of recursive walks, watching and the mirror."""
    prose_files: tuple[str, ...] = PROSE_FILES
    """Names of files in which two changes of one line are merged by words; "!" takes names out again. Elsewhere by lines."""
    follow_symlinks: bool = False
    """Whether links that stay inside the root are followed; otherwise every link is refused."""
    hard_links: Literal["refuse", "break"] = "break"
    """A write to a file with several names gives the written name a file of its own, with a warning; "refuse" refuses it."""
    lock_timeout_seconds: Annotated[float, Meta(gt=0)] = 30.0
    """Longest wait of a call for its turn."""
    max_read_bytes: Annotated[int, Meta(gt=0)] = 10 * MIB
    """Largest file that is read whole."""
    max_write_bytes: Annotated[int, Meta(gt=0)] = 1024 * MIB
    """Largest file that is written."""
    mirror_wait_seconds: Annotated[float, Meta(ge=0)] = 0.25
    """How long a call waits for an eventual mirror before leaving it behind."""
    mirror_probe_seconds: Annotated[float, Meta(gt=0)] = 5.0
    """First pause before a mirror that missed changes is tried again; doubles up to a minute."""
    watch: bool = True
    """Whether foreign changes are watched for while the workspace is open."""
    max_foreign_bytes: Annotated[int, Meta(ge=0)] = 64 * MIB
    """Foreign changes of larger files are recorded without keeping their bytes."""
    snapshot_max_file_bytes: Annotated[int, Meta(ge=0)] = 16 * MIB
    """Largest file whose bytes a checkpoint keeps; larger ones are in it by their hash alone, and named in the result."""
    snapshot_max_bytes: Annotated[int, Meta(ge=0)] = 1024 * MIB
    """Most bytes that one checkpoint adds to what is kept already; files beyond that are in it by their hash alone."""
    auto_checkpoint: Literal["session", "off"] = "off"
    """"session": before the first change of each session a checkpoint is made; the last 20 such ones are kept."""
    retention_bytes: Annotated[int, Meta(ge=0)] = 1024 * MIB
    """Bytes of versions that are kept; beyond it the oldest go first, except what is still needed."""
    retention_records: Annotated[int, Meta(ge=0)] = 1_000_000
    """Records that are kept; the oldest go first."""
    sync_after_seconds: Annotated[float, Meta(ge=0)] = 1.0
    """Pause after which files already covered by the journal are synced themselves."""
    worker_threads: Annotated[int, Meta(ge=1, le=256)] = 16
    """Threads for file work, and so the calls that can be at work at once."""
    tool_timeout_seconds: Annotated[float, Meta(gt=0, le=600)] = 30.0
    """Time limit of a tool call; waiting for locks and people is not counted."""
    approval_wait_seconds: Annotated[float, Meta(ge=0)] = 50.0
    """How long a call waits for a person before it fails with APPROVAL_REQUIRED; the request stays open longer."""
    max_text_lines: Annotated[int, Meta(ge=1)] = 2000
    """Most lines of a text that a model gets at once; it can continue where the text was cut."""
    max_text_characters: Annotated[int, Meta(ge=1)] = 50_000
    """Most characters of a text that a model gets at once."""
    allow_roots: tuple[str, ...] = ()
    """Folders outside the workspace that the tools of the group `context` may look into, besides registered projects."""
    announce_instructions: bool = True
    """Whether agents are informed once about instruction files below the root, when they first read or list there."""
    file_descriptor: DescriptorSettings = DescriptorSettings()
    """How longer texts are handled if descriptors are switched on."""

    def is_prose(self, path: str) -> bool:
        """True if a file is prose by its name, ignoring case; the last matching pattern decides."""
        name = path.rpartition("/")[2].casefold()
        matching = [each for each in self.prose_files if fnmatchcase(name, each.removeprefix("!").casefold())]
        return bool(matching) and not matching[-1].startswith("!")


def home_directory() -> Path:
    """Return the user's home folder.

    Where none is known it is the root of the file system, as container runtimes have it: a relative path would find files in
    whichever folder one is in.
    """
    home = os.path.expanduser("~")
    return Path(home if os.path.isabs(home) else os.sep).absolute()


def user_directory() -> Path:
    """Return the user's configuration folder for filetools, which may not exist yet.

    `FILETOOLS_CONFIG_DIR` names it; otherwise it is `filetools` in `$XDG_CONFIG_HOME` or `~/.config`, on macOS in
    `~/Library/Application Support`, on Windows in `%LOCALAPPDATA%`.
    """
    if named := os.environ.get("FILETOOLS_CONFIG_DIR"):
        return Path(named).absolute()
    if sys.platform == "darwin":
        base = home_directory() / "Library/Application Support"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home_directory() / "AppData/Local")
    else:
        base = Path(os.environ.get("XDG_CONFIG_HOME") or home_directory() / ".config")
    return (base / "filetools").absolute()


def use_user_directory(folder: Path) -> None:
    """Use another configuration folder in this process and its children, for roots that belong to no user."""
    os.environ["FILETOOLS_CONFIG_DIR"] = str(folder)


def load_settings(
    arguments: Mapping[str, Any] | None = None,
    *,
    own_directory: Path | None = None,
    tree_directory: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> tuple[Settings, dict[str, str]]:
    """Build the settings from all sources.

    Args:
        arguments: Values given by the program; None values count as not given.
        own_directory: The user's folder for this root.
        tree_directory: The state directory in the root, whose settings may have come with a clone and only narrow.
        environment: Variables to read; by default those of the process.

    Returns:
        The settings and, for each field, the name of the source it came from.

    Raises:
        InvalidArgumentError: An unknown name or a value out of range, naming the source.
    """
    variables = os.environ if environment is None else environment
    own = {} if own_directory is None else _read_toml(own_directory / SETTINGS_FILE)
    layers: tuple[tuple[str, Mapping[str, Any]], ...] = (
        ("user settings.toml", _read_toml(user_directory() / SETTINGS_FILE)),
        ("user settings.toml of this root", own),
        ("environment", _from_environment(variables)),
        ("argument", {name: value for name, value in (arguments or {}).items() if value is not None}),
    )
    merged: dict[str, Any] = {}
    sources = dict.fromkeys((each.name for each in fields(Settings)), "default")
    for source, values in layers:
        merged.update(values)
        sources.update(dict.fromkeys(values, source))
    settings = Settings(**_checked(Settings, merged, sources))
    if tree_directory is not None:
        settings = _narrowed(settings, tree_directory / SETTINGS_FILE, sources)
    return settings, sources


def _narrowed(settings: Settings, file: Path, sources: dict[str, str]) -> Settings:
    """Return settings narrowed by those of the tree; values that would widen them are ignored and logged."""
    narrower: dict[str, Any] = {}
    for name, theirs in _asked(file).items():
        mine = getattr(settings, name)
        value = _NARROWER[name](mine, theirs) if name in _NARROWER else mine
        if value != mine:
            narrower[name], sources[name] = value, _IN_TREE
        if value != theirs and name not in _EXTENDED:
            _say_once(f"{name} = {theirs!r} in {str(file)!r} is not used: settings in a tree can only narrow yours")
    return replace(settings, **narrower) if narrower else settings


def _asked(file: Path) -> dict[str, Any]:
    """Return the tree's valid settings. A wrong file never fails an opening; what may have protected is at its strictest."""
    strictest = {name: order[0] for name, order in _STRICTEST_FIRST.items()} | dict.fromkeys(_EXTENDED, ("**",))
    try:
        found = _read_toml(file, read_of_tree)
    except InvalidArgumentError as exc:
        _say_once(f"{str(file)!r}: the strictest settings are used: {exc}")
        return strictest
    asked: dict[str, Any] = {}
    for name, value in found.items():
        try:
            asked |= _checked(Settings, {name: value}, {name: _IN_TREE})
        except InvalidArgumentError as exc:
            if name in strictest:
                asked[name] = strictest[name]
            _say_once(f"{name} is {'as strict as can be' if name in asked else 'not used'}: {exc}")
    return asked


_say_once: Final = cache(_log.warning)


def parsed_toml(text: str) -> dict[str, Any]:
    """Parse TOML from anybody.

    Raises:
        ValueError: It is not TOML, is nested too deeply, or has a line of so many dots that it may be one key: tomllib takes
            time quadratic in its parts.
    """
    import tomllib  # only needed if there is a file

    if any(part.count(".") > _MOST_DOTS for part in re.split(r"[=\n]", text)):
        raise ValueError(f"a line has over {_MOST_DOTS} dots")
    try:
        return tomllib.loads(text)
    except RecursionError as exc:
        raise ValueError(str(exc)) from exc


def _read_toml(path: Path, read: Callable[[Path], bytes] = Path.read_bytes) -> Mapping[str, Any]:
    try:
        return parsed_toml(read(path).decode())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as exc:  # ValueError: not UTF-8, or not TOML
        reason = exc.strerror if isinstance(exc, OSError) else exc
        raise InvalidArgumentError(f"Cannot read the settings in {path.name!r}: {reason}") from exc


def read_of_tree(path: Path) -> bytes:
    """Return a small file that may have come with a tree.

    Raises:
        ValueError: It is over 64 KiB, or a link or a special file, which need not end: one to /dev/zero, a pipe.
    """
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode) or found.st_size > _MOST_TREE_BYTES:
        raise ValueError(f"it is a link, a special file, or over {_MOST_TREE_BYTES} bytes")
    return path.read_bytes()


def forces_terminal() -> bool:
    """True if the environment requests terminal output even into files, by the variables that rich reads."""
    return bool(os.environ.get("FORCE_COLOR")) or os.environ.get("TTY_COMPATIBLE") == "1"


def session_logs_folder() -> Path:
    """Return the folder that holds the logs of coding agents, one folder a project; in NFC, and perhaps not there.

    It is `projects` in what `CLAUDE_CONFIG_DIR` names, else in `~/.claude`.
    """
    folder = os.environ.get("CLAUDE_CONFIG_DIR") or str(home_directory() / ".claude")
    return Path(unicodedata.normalize("NFC", folder), "projects")


def variables(names: Iterable[str]) -> dict[str, str]:
    """Return those variables of the process that are set, for a child process that gets no others."""
    return {name: os.environ[name] for name in names if name in os.environ}


def git_program(folder: Path) -> str | None:
    """Return the path of git for use in a folder; None if there is none.

    A program in the repository of the folder never counts, even if a folder of it is on PATH: its content is not trusted.
    """
    top = next((each for each in (folder, *folder.parents) if os.path.lexists(each / ".git")), folder)
    places = filter(os.path.isabs, os.environ.get("PATH", os.defpath).split(os.pathsep))
    programs = filter(None, (which("git", path=each) for each in places))
    found = ((each, Path(os.path.realpath(os.path.dirname(each)))) for each in programs if os.path.isabs(each))
    return next((each for each, place in found if top == Path(top.anchor) or not place.is_relative_to(top)), None)


def named_session() -> str | None:
    """Return the session that the environment names for what this process does, as that of a run does; None if none."""
    return session_name(os.environ.get(SESSION_VARIABLE, "")) or None


def session_name(text: str) -> str:
    """Return the name of a session as all that read it from the environment know it: trimmed, and storable."""
    # Bytes that are not UTF-8 appear in the environment as lone surrogates, which cannot be stored.
    return text.encode("utf-8", "replace").decode().strip()


def environment_of_run(session: str, model: str = "") -> dict[str, str]:
    """Return the environment of an agent's process: all variables of this one, the session of its run, and the model."""
    return {**os.environ, SESSION_VARIABLE: session, **({MODEL_VARIABLE: model} if model else {})}


def _from_environment(variables: Mapping[str, str]) -> Mapping[str, Any]:
    return {
        field.name: [part.strip() for part in text.split(",") if part.strip()] if "tuple" in str(field.type) else text
        for field in fields(Settings)
        if (text := variables.get(ENVIRONMENT_PREFIX + field.name.upper())) is not None
    }
