from __future__ import annotations

import pytest

from filetools.paths.protected import matches_protected
from filetools.paths.workspace_path import WorkspacePath
from filetools.settings import PROTECTED_PATHS


@pytest.mark.parametrize(
    "path",
    [
        ".git",
        ".git/config",
        "sub/.git",
        ".GIT/config",
        ".g\u200cit/config",
        "\ufeff.git",
        ".git./config",
        ".git /config",
        ".git::$INDEX_ALLOCATION/config",
        "GIT~1/config",
        "sub/git~2",
        ".gitmodules",
        "GITMOD~1",
        ".vscode/tasks.json",
        ".idea",
        ".cursor/mcp.json",
        ".claude/settings.json",
        ".mcp.json",
        "a/b/.MCP.json",
        "MCP~1.JSO",
        ".hg/hgrc",
        "sub/.GitAttributes",
        "x.code-workspace",
        "sub/.zed/tasks.json",
        ".NVIM.lua",
        ".codex/config.toml",
        "a/.Gemini/settings.json",
        ".aider.conf.yml",
        "opencode.json",
        ".husky/pre-commit",
        "lefthook-local.yml",
        ".pre-commit-config.yaml",
        ".github/workflows/x.yml",
        "sub/.GITHUB/Actions/a/action.yml",
        "JENKINSFILE",
        "azure-pipelines-1.yml",
        ".devcontainer/devcontainer.json",
        ".envrc",
        "sub/mise.local.toml",
        ".zshrc",
    ],
)
def test_protects(path: str) -> None:
    assert matches_protected(WorkspacePath(path), PROTECTED_PATHS)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "git",
        ".gitignore",
        ".github/ISSUE_TEMPLATE/x.yml",
        ".github/workflow.yml",
        "x.gitmodules",
        "code-workspace.md",
        "AGENTS.md",
        "package.json",
        ".env",
        ".mcp.jsonc",
        "src/idea",
    ],
)
def test_leaves_others_free(path: str) -> None:
    assert not matches_protected(WorkspacePath(path), PROTECTED_PATHS)


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.pem", "keys/server.pem", True),
        ("*.pem", "keys/server.pem.txt", False),
        ("*.PEM", "server.pem", True),
        ("deploy/*.sh", "deploy/run.sh", True),
        ("deploy/*.sh", "nested/deploy/run.sh", True),
        ("deploy/*.sh", "deploy/sub/run.sh", False),
        ("deploy/**/run", "deploy/run", True),
        ("deploy/**/run", "deploy/a/b/run", True),
        ("deploy/**/run", "deploy/a/b/runs", False),
        ("key?", "key1", True),
        ("key[0-9]", "key7", True),
        ("key[!0-9]", "key7", False),
        ("key[!0-9]", "keyx", True),
        ("key[]]", "key]", True),
        ("a.b", "axb", False),
        ("caf\u00e9", "CAFE\u0301", True),
        ("/rooted", "rooted", True),
    ],
)
def test_patterns(pattern: str, path: str, expected: bool) -> None:
    assert matches_protected(WorkspacePath(path), (pattern,)) is expected


def test_hostile_names_stay_cheap() -> None:
    path = WorkspacePath("/".join(["a" * 255] * 16))
    assert not matches_protected(path, ("*a*a*a*a*b", "**/x/**/y/**/z"))
