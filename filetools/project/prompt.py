"""Formats facts about projects and running instances as the beginning of a prompt."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from filetools.errors import FileToolsError
from filetools.printable import printable
from filetools.project.folder import short_path

AT_ONCE: Final = 8
MOST_COMMITS: Final = 3
_BREAK: Final = re.compile("\r\n|[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")

Row = Mapping[str, Any]
Ask = Callable[[str], Row]


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
        path = project["path"]
        facts = {
            "id": project["id"], "name": project["name"], "path": short_path(path), "repo_name": project.get("repo_name"),
            "git": _answer(git_state, path), "readme": None if readme is None else _answer(readme, path),
        }  # fmt: skip
        return {name: value for name, value in facts.items() if value is not None}

    by_name = sorted(projects, key=lambda project: str(project["name"]))
    by_use = sorted(by_name, key=lambda project: project.get("last_activity_at") or "", reverse=True)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return {"projects": list(pool.map(told, by_use)), "instances": [dict(row) for row in instances]}


def format_context(context: Row) -> str:
    """Format the result of `gather` as text in which no value can forge a heading, a rule or a line.

    Line breaks and tabs in a value become blanks, other invisible characters escapes; each line of a README is prefixed by
    `  > `.
    """
    names = {project["id"]: project["name"] for project in context["projects"]}
    projects = "".join(map(_project, context["projects"])) or "No projects registered yet.\n\n"
    instances = "".join(_instance(row, names) for row in context["instances"]) or "No instances currently running.\n\n"
    return f"## Available Projects\n\n{projects}## Running Instances\n\n{instances}"[:-1]


def build_prompt(context: Row, user_input: str) -> str:
    """Return the text of a context, a rule, and the user's input, unchanged."""
    return f"{format_context(context)}\n\n---\n\n## User Input\n\n{user_input}"


def _answer(ask: Ask, path: str) -> dict[str, Any] | None:
    try:
        return dict(ask(path))
    except FileToolsError:
        return None


def _project(project: Row) -> str:
    git = project.get("git", {})
    repository = project.get("repo_name")
    lines = _facts(project, ID=project["id"], Path=project["path"], Repo=repository, Branch=git.get("branch"))
    lines += ["- Has uncommitted changes"] if git.get("dirty") else []
    if commits := git.get("commits", ())[:MOST_COMMITS]:
        lines += ["- Recent commits:", *(_line("  - {hash}: {msg} ({age})".format_map(commit)) for commit in commits)]
    if (readme := project.get("readme", {})).get("content"):
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
    return printable(_BREAK.sub(" ", str(value)))
