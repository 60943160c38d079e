"""The documents are true: examples run, links lead somewhere, pages made from the code are up to date."""

from __future__ import annotations

import ast
import inspect
import json
import re
import tomllib
from pathlib import Path

import pytest

from filetools import events
from tests.support.declared import REPOSITORY
from tests.support.examples import Shell, assert_matches, blocks, run_page
from tests.support.reference import FOLDER, PAGES
from tests.support.terminal import shared_server

DOCS = REPOSITORY / "docs"
TEXTS = {
    path.relative_to(REPOSITORY).as_posix(): path.read_text(encoding="utf-8")
    for path in [REPOSITORY / "README.md", *sorted(DOCS.rglob("*.md"))]
}
FRAMEWORKS = {
    "docs/guide/pydantic-ai.md": "pydantic_ai",
    "docs/guide/deepagents.md": "deepagents",
    "docs/guide/langchain.md": "langchain_core",
    "docs/guide/openai-agents.md": "agents",
}
"""Pages whose examples need a framework, which `make frameworks` installs."""
WITH_EXAMPLES = [
    name for name, text in TEXTS.items() if any(block.language in ("python", "console") for block in blocks(text))
]
WITHOUT_LIMITS = {"docs/tutorial.md"}
LANGUAGES = {"python", "py", "console", "text", "sh", "toml", "json", "curl"}
"""What a fenced block may be; "sh" holds commands of a checkout, "text" what is printed or drawn, "curl" what is sent to a
server, which `tests/servers/http/test_guide.py` does, "py" what needs another's package and login: it is only compiled."""
PASTED = ["README.md", "docs/tutorial.md", "docs/events.md"]
"""Pages for a first visit: each of their Python blocks is a whole program."""


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(shared_server(), tmp_path_factory.mktemp("commands"))


@pytest.mark.parametrize(
    "page",
    [
        "```python\nassert False\n```\n",
        "```python\nprint(1)\n```\n\n```text\n2\n```\n",
        "```console\n$ echo one\ntwo\n```\n",
        "```console\n$ filetools read missing.txt\n…\n```\n",
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
@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_examples_of_a_page_run_and_print_what_it_says(
    name: str, tmp_path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (framework := FRAMEWORKS.get(name)) is not None:
        pytest.importorskip(framework)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FILETOOLS_DURABILITY", "relaxed")
    run_page(TEXTS[name], tmp_path, shell)


def test_examples_for_a_first_visit_run_as_files_of_their_own() -> None:
    for name in PASTED:
        for block in blocks(TEXTS[name]):
            if block.language == "python":
                compile(block.text, f"<{name}, line {block.line}>", "exec")  # a bare await is a syntax error here


def test_the_readme_shows_the_examples_as_they_are() -> None:
    for path in (DOCS / "examples").glob("*.py"):
        assert f"```python\n{path.read_text(encoding='utf-8')}```" in TEXTS["README.md"], path.name


def test_recipes_are_valid_in_the_language_they_are_in() -> None:
    recipes = blocks(TEXTS["docs/guide/recipes.md"])
    assert {"json", "toml", "py"} <= {block.language for block in recipes}
    for block in recipes:
        if block.language == "json":
            json.loads(block.text)
        elif block.language == "toml":
            tomllib.loads(block.text)
        elif block.language == "py":
            compile(block.text, "<recipe>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_every_event_is_on_the_page_of_events() -> None:
    kinds = [kind for name in events.__all__ if isinstance(kind := getattr(events, name), type)]
    told = [kind for kind in kinds if issubclass(kind, events.Event) and not kind.__subclasses__()]
    assert len(told) > 30
    for kind in told:
        sentence = (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ")
        assert f"| `{kind.name}` | `{kind.__name__}` | {sentence} |" in TEXTS["docs/events.md"]


def test_the_site_has_every_page() -> None:
    site = (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [name.removeprefix("docs/") for name in TEXTS if name.startswith("docs/") and "/decisions/" not in name]
    assert [page for page in pages if not re.search(rf"[ :]{re.escape(page)}$", site, re.MULTILINE)] == []


def test_guides_and_pages_with_examples_tell_their_limits() -> None:
    guides = {name for name in TEXTS if name.startswith("docs/guide/")} | set(WITH_EXAMPLES)
    assert {name for name in guides if "\n## Limits\n" not in TEXTS[name]} <= WITHOUT_LIMITS


def test_every_block_has_a_known_language() -> None:
    for name, text in TEXTS.items():
        assert {block.language for block in blocks(text)} <= LANGUAGES, name
        assert text.count("\n```") + text.startswith("```") == 2 * len(blocks(text)), name


def test_links_lead_to_files_and_headings_that_exist() -> None:
    for name, text in TEXTS.items():
        prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\(([^)\s]+)\)", prose):
            if target.startswith(("https://", "http://")):
                continue
            place, _, heading = target.partition("#")
            goal = (REPOSITORY / name).parent / place if place else REPOSITORY / name
            assert goal.exists(), (name, target)
            assert not heading or heading in headings(goal), (name, target)


def headings(path: Path) -> set[str]:
    lines = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line).strip().lower().replace(" ", "-") for line in lines}


def test_files_of_the_repository_that_are_named_exist() -> None:
    tests = re.findall(r"`([\w/]+/test_\w+\.py)`", TEXTS["docs/reliability.md"])
    assert len(tests) > 10
    assert [place for place in tests if not (REPOSITORY / "tests" / place).exists()] == []
    for name, text in TEXTS.items():
        for place in re.findall(r"`((?:filetools|tests|benchmarks|docs)/[\w./-]+)`", text):
            assert (REPOSITORY / place).exists(), (name, place)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_made_from_the_code_is_up_to_date(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name](), "run: make reference"


def test_every_make_target_that_is_named_exists() -> None:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    for name, text in TEXTS.items():
        shells = "".join(block.text for block in blocks(text) if block.language == "sh")
        used = {*re.findall(r"`make ([a-z-]+)`", text), *re.findall(r"make ([a-z-]+)", shells)}
        assert used <= targets, name
        assert name != "README.md" or used >= {"demo", "test"}


def test_decisions_are_short_numbered_without_gaps_and_listed() -> None:
    decisions = {name.removeprefix("docs/"): text for name, text in TEXTS.items() if "/decisions/" in name}
    numbers = [int(re.fullmatch(r"decisions/(\d{4})-[a-z0-9-]+\.md", name)[1]) for name in decisions]  # type: ignore[index]
    assert numbers == list(range(1, len(numbers) + 1))
    for name, text in decisions.items():
        assert f"({name})" in TEXTS["docs/architecture.md"]
        assert re.search(r"^Date: \d{4}-\d{2}-\d{2}$", text, re.MULTILINE), name
        assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Question", "Choice", "Reasons", "Cost"], name
        assert len(text.split()) <= 350, name


def test_no_document_names_a_machine_or_a_registry() -> None:
    others = [(REPOSITORY / place).read_text(encoding="utf-8") for place in ("Makefile", ".ci/run", "pyproject.toml")]
    for text in [*TEXTS.values(), *others]:
        assert not re.search(r"index.url|/(home|root)/|(?<![\w.])/(work)/", text), text[:80]
