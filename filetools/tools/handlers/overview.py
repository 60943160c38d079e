"""Gathers the context of a prompt from the registered projects, and all facts about one folder for people."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from filetools.errors import FileToolsError
from filetools.facade.facade import FileToolsFacade
from filetools.project.folder import folder_path, opened_folder
from filetools.project.git import git_remote, git_state
from filetools.project.instructions import instruction_root, instructions
from filetools.project.manifests import dependencies
from filetools.project.prompt import format_context, gather
from filetools.project.readme import readme as readme_in


async def gather_context(
    files: FileToolsFacade, projects: Sequence[str] | None = None, *, readme: bool = False
) -> dict[str, Any]:
    """Return the input of `filetools.project.prompt.format_context()` and `build_prompt()`.

    Args:
        files: The workspace that has registered the projects and instances.
        projects: Ids of registered projects; None for all.
        readme: True to add the beginnings of their READMEs.

    Returns:
        `{"projects": [{id, name, path, repo_name?, git?, readme?}], "instances": [{id, name, dir, status, project?}]}`.

    Raises:
        ProjectNotFoundError: No project has one of the ids.
    """
    return await files.projects.run(
        lambda registry: gather(
            registry.list_projects() if projects is None else [registry.project(each) for each in projects],
            registry.instances(), git_state=git_state, readme=_readme if readme else None,
        )
    )  # fmt: skip


def overview(
    path: str, *, base: str, projects: Sequence[Mapping[str, Any]] = (), instances: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """Return the context tools' facts about a folder, and the text that would begin a prompt. Blocks.

    Args:
        path: Any folder: relative to `base`, absolute, `~` or `~/…`.
        base: An absolute path.
        projects: The registered projects, which may include the folder.
        instances: The running instances.

    Returns:
        `{"path", "name", "id"?, "repo_name"?, "git", "readme", "instructions", "dependencies", "prompt"}`. Each part is
        its tool's answer, or `{"error", "error_code"}`; paths of instructions are relative to the folder.

    Raises:
        DirectoryNotFoundError, PathNotDirectoryError, AccessDeniedError, InvalidArgumentError
    """
    place = folder_path(path, base=base, allowed=None)
    with opened_folder(place) as folder:
        shown = folder.shown()
        parts = {
            "git": _answer(lambda: git_state(place)),
            "readme": _answer(lambda: readme_in(folder)),
            "instructions": _answer(lambda: _instructions(place)),
            "dependencies": _answer(lambda: dependencies(folder)),
        }
    repository = _answer(lambda: git_remote(place) or {}).get("repo_name")
    named = {"name": posixpath.basename(repository or place) or place} | (
        {"repo_name": repository} if repository else {}
    )
    known = next((each for each in projects if each["path"] == place), {})
    named |= {name: known[name] for name in ("id", "name", "repo_name") if name in known} | {"path": shown}
    git = {} if "error" in parts["git"] else {"git": parts["git"]}
    return (
        named | parts | {"prompt": format_context({"projects": [{"id": "", **named, **git}], "instances": instances})}
    )


def _readme(place: str) -> dict[str, Any]:
    with opened_folder(place) as folder:
        return readme_in(folder)


def _instructions(place: str) -> dict[str, Any]:
    top = instruction_root(place, None)
    with opened_folder(top) as folder:
        found = instructions(folder, "" if place == top else posixpath.relpath(place, top))
    for entry in (*found["files"], *found.get("skills", ())):
        entry["path"] = posixpath.relpath(posixpath.join(top, entry["path"]), place)
    return found


def _answer(ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return ask()
    except FileToolsError as error:
        return {"error": error.message, "error_code": error.code}
