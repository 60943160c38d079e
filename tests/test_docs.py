"""The documents say what is true: examples run, links lead somewhere, pages made from the code are up to date."""

from __future__ import annotations

import ast
import inspect
import json
import re
import tomllib
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from filetools import events
from tests.support.declared import REPOSITORY
from tests.support.examples import Shell, assert_matches, blocks, run_page
from tests.support.reference import FOLDER, PAGES
from tests.support.terminal import Server

DOCS = REPOSITORY / "docs"
DOCUMENTS = [REPOSITORY / "README.md", *sorted(DOCS.rglob("*.md"))]
FRAMEWORKS = {
    "docs/guide/pydantic-ai.md": "pydantic_ai",
    "docs/guide/deepagents.md": "deepagents",
    "docs/guide/langchain.md": "langchain_core",
    "docs/guide/openai-agents.md": "agents",
}
"""Pages whose examples need a framework, which `make frameworks` installs."""
GUIDES = [
    "README.md",
    "docs/guide/agent-author.md",
    "docs/guide/editor-author.md",
    "docs/guide/let-an-agent-loose.md",
    "docs/guide/operator.md",
    "docs/guide/recipes.md",
    *FRAMEWORKS,
    "docs/embedding.md",
    "docs/events.md",
    "docs/descriptors.md",
    "docs/history.md",
    "docs/settings.md",
    "docs/command-line.md",
]
DECISIONS = sorted((DOCS / "decisions").glob("*.md"))
LANGUAGES = {"python", "py", "console", "text", "sh", "toml", "json", "curl"}
"""What a fenced block may be; "sh" holds commands of a checkout, "text" what is printed or drawn, "curl" what is sent to a
server, which `tests/servers/http/test_guide.py` does, "py" what needs another's package and login: it is only compiled."""
PASTED = ["README.md", "docs/index.md", "docs/tutorial.md", "docs/events.md"]
"""Pages for a first visit: each of their Python blocks is a whole program."""


def named(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    server = Server()
    yield Shell(server, tmp_path_factory.mktemp("commands"))
    server.close()


WITH_EXAMPLES = [
    path
    for path in DOCUMENTS
    if any(block.language in ("python", "console") for block in blocks(path.read_text(encoding="utf-8")))
]


@pytest.mark.parametrize(
    "page",
    [
        "```python\nassert False\n```\n",
        "```python\nimport asyncio\nawait asyncio.sleep(0)\nraise AssertionError\n```\n",
        "```python\nprint(1)\n```\n\n```text\n2\n```\n",
        "```console\n$ echo one\ntwo\n```\n",
        "```console\n$ filetools read missing.txt\n…\n```\n",
        "```console\n$ touch nothing\n```\n",
    ],
)
def test_an_example_that_is_wrong_is_found(
    page: str, tmp_path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError):
        run_page(page, tmp_path, shell)


def test_dots_stand_for_any_text_and_a_line_of_them_for_any_lines() -> None:
    assert_matches("a 1 b\nc\nd\n", "a … b\n…\nd\n")
    with pytest.raises(AssertionError):
        assert_matches("a 1\nc\n", "a … b\n…\n")


@pytest.mark.timeout(600)  # a page runs up to some forty commands, each a process
@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=named)
def test_the_examples_of_a_page_run_and_print_what_it_says(
    path: Path, tmp_path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (framework := FRAMEWORKS.get(named(path))) is not None:
        pytest.importorskip(framework)
    monkeypatch.chdir(tmp_path)
    run_page(path.read_text(encoding="utf-8"), tmp_path, shell)


@pytest.mark.parametrize("name", PASTED)
def test_what_a_newcomer_pastes_runs_as_a_file_of_its_own(name: str) -> None:
    for block in blocks((REPOSITORY / name).read_text(encoding="utf-8")):
        if block.language == "python":
            compile(block.text, f"<{name}, line {block.line}>", "exec")  # a bare await is a syntax error here
            assert "import filetools" in block.text


def test_recipes_are_valid_in_the_language_they_are_in() -> None:
    recipes = blocks((DOCS / "guide" / "recipes.md").read_text(encoding="utf-8"))
    assert {"json", "toml", "py"} <= {block.language for block in recipes}
    for block in recipes:
        if block.language == "json":
            json.loads(block.text)
        elif block.language == "toml":
            tomllib.loads(block.text)
        elif block.language == "py":
            compile(block.text, "<recipe>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_every_event_is_on_the_page_of_events() -> None:
    page = (DOCS / "events.md").read_text(encoding="utf-8")
    kinds = [kind for name in events.__all__ if isinstance(kind := getattr(events, name), type)]
    told = [kind for kind in kinds if issubclass(kind, events.Event) and not kind.__subclasses__()]
    assert len(told) > 30
    for kind in told:
        sentence = (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ")
        assert f"| `{kind.name}` | `{kind.__name__}` | {sentence} |" in page


def test_the_site_has_every_page() -> None:
    site = (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md") if path.parent != DOCS / "decisions"]
    assert [page for page in pages if not re.search(rf"[ :]{re.escape(page)}$", site, re.MULTILINE)] == []


def test_the_guides_have_examples() -> None:
    assert set(GUIDES) <= {named(path) for path in WITH_EXAMPLES}


@pytest.mark.parametrize("name", GUIDES)
def test_a_guide_tells_its_limits(name: str) -> None:
    assert "\n## Limits\n" in (REPOSITORY / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_every_block_has_a_known_language(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert {block.language for block in blocks(text)} <= LANGUAGES
    assert text.count("\n```") + text.startswith("```") == 2 * len(blocks(text))


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_links_lead_to_files_and_headings_that_exist(path: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("https://", "http://")):
            continue
        place, _, heading = target.partition("#")
        goal = (path.parent / place).resolve() if place else path
        assert goal.exists(), target
        if heading:
            assert heading in headings(goal), target


def headings(path: Path) -> set[str]:
    lines = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line).strip().lower().replace(" ", "-") for line in lines}


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_files_of_the_repository_that_are_named_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for place in re.findall(r"`((?:filetools|tests|benchmarks|docs)/[\w./-]+)`", text):
        assert (REPOSITORY / place).exists(), place


@pytest.mark.parametrize("name", PAGES)
def test_a_page_made_from_the_code_is_up_to_date(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name](), "run: make reference"


def test_every_test_that_the_page_on_reliability_names_exists() -> None:
    text = (DOCS / "reliability.md").read_text(encoding="utf-8")
    named_tests = re.findall(r"`([\w/]+/test_\w+\.py)(?:::(test_\w+))?`", text)
    assert len(named_tests) > 30
    for place, name in named_tests:
        source = (REPOSITORY / "tests" / place).read_text(encoding="utf-8")
        assert not name or f"def {name}(" in source, (place, name)


def test_every_make_target_that_is_named_exists() -> None:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    shells = [
        block.text for path in DOCUMENTS for block in blocks(path.read_text(encoding="utf-8")) if block.language == "sh"
    ]
    assert {"demo", "test"} <= set(re.findall(r"make ([a-z-]+)", "".join(shells)))
    for path in DOCUMENTS:
        assert set(re.findall(r"`make ([a-z-]+)`", path.read_text(encoding="utf-8"))) <= targets, path
    assert set(re.findall(r"make ([a-z-]+)", "".join(shells))) <= targets


@pytest.mark.parametrize("path", DECISIONS, ids=named)
def test_a_decision_is_numbered_dated_and_says_what_it_costs(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", path.name)
    found = re.search(r"^Date: (\d{4}-\d{2}-\d{2})$", text, re.MULTILINE)
    assert found is not None
    date.fromisoformat(found[1])
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Question", "Choice", "Reasons", "What it costs"]


def test_decisions_are_numbered_without_gaps_and_listed() -> None:
    numbers = [int(path.name[:4]) for path in DECISIONS]
    assert numbers == list(range(1, len(numbers) + 1))
    listed = (DOCS / "architecture.md").read_text(encoding="utf-8")
    assert [path.name for path in DECISIONS if f"(decisions/{path.name})" not in listed] == []


def test_no_document_names_a_machine_or_a_registry() -> None:
    for path in [*DOCUMENTS, REPOSITORY / "Makefile", REPOSITORY / ".ci/run", REPOSITORY / "pyproject.toml"]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"index.url|/(home|root)/|(?<![\w.])/(work)/", text), path
