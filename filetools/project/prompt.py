"""Formats facts about projects and running instances as the beginning of a prompt."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from filetools.errors import FileToolsError
from filetools.project.folder import short_path

AT_ONCE: Final = 8
MOST_COMMITS: Final = 3
_BREAK: Final = re.compile("\r\n|[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")
# Escapes control terminals, direction marks reorder text, tags are visible only to models, lone surrogates cannot be sent.
_UNSEEN: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)
_WHOLE, _WITHOUT_README, _WITHOUT_COMMITS, _BARE = _FORMS = range(3, -1, -1)

Row = Mapping[str, Any]
Ask = Callable[[str], Row]


def estimate_tokens(text: str) -> int:
    """Estimate the number of tokens of a text: its characters divided by 3.5, rounded up."""
    return -(-2 * len(text) // 7)


def gather(
    projects: Sequence[Row], instances: Sequence[Row], *, git_state: Ask, readme: Ask | None = None
) -> dict[str, Any]:
    """Return the input of `format_context`. Blocks until all projects have been read, 8 of them at a time.

    Args:
        projects: With `id`, `name`, `path` (absolute) and, if known, `repo_name` and `last_activity_at`.
        instances: Rows as returned by `get_instance_status`.
        git_state: Returns the answer of `get_git_state` for a path.
        readme: Returns the answer of `get_readme` for a path; None omits READMEs.

    Returns:
        `{"projects": [{id, name, path, repo_name?, git?, readme?}], "instances": […]}`, most recently used project first.
        Facts that fail with a `FileToolsError` are omitted.
    """

    def told(project: Row) -> dict[str, Any]:
        facts = {name: project.get(name) for name in ("id", "name", "path", "repo_name")}
        facts |= {"path": short_path(project["path"]), "git": _answer(git_state, project["path"])}
        facts["readme"] = None if readme is None else _answer(readme, project["path"])
        return {name: value for name, value in facts.items() if value is not None}

    by_name = sorted(projects, key=lambda project: str(project["name"]))
    by_use = sorted(by_name, key=lambda project: project.get("last_activity_at") or "", reverse=True)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return {"projects": list(pool.map(told, by_use)), "instances": [dict(row) for row in instances]}


def format_context(context: Row, *, max_tokens: int | None = None) -> str:
    """Format a context as text in which no value can forge a heading, a rule or a line.

    Line breaks and tabs in a value become blanks, other invisible characters U+FFFD; each line of a README is prefixed by
    `  > `.

    Args:
        context: The result of `gather`.
        max_tokens: Limit on `estimate_tokens`. The least recently used projects shrink first: each loses its README, then
            its commits, then all but ID, name and path. These of every project, and the instances, are always kept.
    """
    forms = [[_project(each, form) for form in _FORMS] for each in context["projects"]]
    names = {project["id"]: project["name"] for project in context["projects"]}
    before = "## Available Projects\n\n" + ("" if forms else "No projects registered yet.\n\n")
    instances = "".join(_instance(row, names) for row in context["instances"]) or "No instances currently running.\n\n"
    after = f"## Running Instances\n\n{instances}"[:-1]
    room = None if max_tokens is None else 7 * max_tokens // 2 - len(before) - len(after)
    return f"{before}{''.join(_fitting(forms, room))}{after}"


def build_prompt(context: Row, user_input: str, *, max_tokens: int | None = None) -> str:
    """Return the text of a context, a rule, and the user's input, unchanged.

    `max_tokens` limits `estimate_tokens` of the whole; only the context shrinks, see `format_context`.
    """
    end = f"\n\n---\n\n## User Input\n\n{user_input}"
    return format_context(context, max_tokens=None if max_tokens is None else max_tokens - estimate_tokens(end)) + end


def _answer(ask: Ask, path: str) -> dict[str, Any] | None:
    try:
        return dict(ask(path))
    except FileToolsError:
        return None


def _fitting(forms: Sequence[Sequence[str]], room: int | None) -> list[str]:
    """Choose one form of each project, given largest first, so that the total is at most `room` characters."""
    chosen = [texts[0] for texts in forms]
    excess = 0 if room is None else sum(map(len, chosen)) - room
    for place in reversed(range(len(forms))):
        for text in forms[place][1:]:
            if excess > 0:
                excess -= len(chosen[place]) - len(text)
                chosen[place] = text
    return chosen


def _project(project: Row, form: int) -> str:
    git = project.get("git", {}) if form > _BARE else {}
    repository = project.get("repo_name") if form > _BARE else None
    lines = _facts(project, ID=project["id"], Path=project["path"], Repo=repository, Branch=git.get("branch"))
    lines += ["- Has uncommitted changes"] if git.get("dirty") else []
    if form > _WITHOUT_COMMITS and (commits := git.get("commits", ())[:MOST_COMMITS]):
        lines += ["- Recent commits:", *(_line("  - {hash}: {msg} ({age})".format_map(commit)) for commit in commits)]
    if form == _WHOLE and (readme := project.get("readme", {})).get("content"):
        lines.append("- README, its beginning:" if readme.get("truncated") else "- README:")
        lines += [f"  > {_line(line)}" for line in readme["content"].splitlines()]
    return "\n".join(lines) + "\n\n"


def _instance(row: Row, names: Mapping[str, str]) -> str:
    facts = {"ID": row["id"], "Directory": row["dir"], "Status": row["status"]}
    return "\n".join(_facts(row, **facts, Project=names.get(row.get("project", "")))) + "\n\n"


def _facts(named: Row, **facts: object) -> list[str]:
    """Return the heading and the lines of a project or an instance, without lines that have no value."""
    return [f"### {_line(named['name'])}", *(f"- {key}: {_line(value)}" for key, value in facts.items() if value)]


def _line(value: object) -> str:
    """Convert a value to text on one line."""
    return _UNSEEN.sub("\ufffd", _BREAK.sub(" ", str(value)))
