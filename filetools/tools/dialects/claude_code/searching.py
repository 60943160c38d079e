"""Grep: matching lines, files or counts, formatted like grep's output. Glob: files by name, newest first."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from filetools.errors import InvalidArgumentError
from filetools.models.searching import Entry, GrepFile, GrepMatch, GrepResult
from filetools.paths.patterns import Glob, alternatives, glob_below
from filetools.printable import printable
from filetools.tools.answers.bodies import UNSAVED, counted, grep_rows, match_lines
from filetools.tools.answers.seen import TextLimits, clipped
from filetools.tools.arguments import Parameters, meant
from filetools.tools.dialects.claude_code.files import GROUP, located
from filetools.tools.dialects.dialect import presented
from filetools.tools.handlers.reading import pages
from filetools.tools.handlers.searching import progress_of
from filetools.tools.roots import ServedPath
from filetools.tools.tool import AnyTool, Tool, ToolContext


def rows_of(matches: Iterable[GrepMatch], given: Grep) -> Iterator[str]:
    """Yield the rows of matches, which must be grouped by file and ordered by line."""
    before, after = _around(given)
    if not given.only_matching:
        found = ((printable(match.path), match_lines(match, before, after, _remark(match))) for match in matches)
        yield from grep_rows(found, has_context=bool(before or after), has_numbers=given.has_numbers)
        return
    for match in matches:
        place = f"{printable(match.path)}:{match.line}:" if given.has_numbers else f"{printable(match.path)}:"
        for text in match.matched or ():
            yield from (f"{place}{part}{_remark(match)}" for part in text.split("\n"))


def _around(given: Grep) -> tuple[int, int]:
    """Return the number of context lines above and below each match."""
    both = given.around if given.context is None else given.context
    before, after = (both if each is None else each for each in (given.before, given.after))
    return (0, 0) if given.only_matching else (min(before or 0, MOST_AROUND), min(after or 0, MOST_AROUND))


def _remark(match: GrepMatch) -> str:
    return UNSAVED if match.origin == "buffer" else ""


def grep_text(data: Mapping[str, Any], limits: TextLimits) -> str:
    """Return Grep's results as text for a model."""
    window = ", ".join(
        f"{word}: {data[name]}"
        for word, name in (("limit", "appliedLimit"), ("offset", "appliedOffset"))
        if name in data
    )
    if data["mode"] == "files_with_matches":
        if not data["filenames"]:
            return "No files found"
        head = f"Found {counted(data['numFiles'], 'file')}{f' {window}' if window else ''}"
        return _cut("\n".join((head, *data["filenames"])), limits)
    body = _cut(data["content"], limits) or "No matches found"
    if data["mode"] == "content":
        return body + (f"\n\n[Showing results with pagination = {window}]" if window else "")
    total = f"Found {counted(data['numMatches'], 'total occurrence')} across {counted(data['numFiles'], 'file')}."
    return f"{body}\n\n{total}" + (f" with pagination = {window}" if window else "")


def _cut(text: str, limits: TextLimits) -> str:
    shown, kept = clipped(text, limits)
    return text if kept is None else f"{shown}[only {kept} rows shown: use head_limit and offset, or search for less]"


FILE_TYPES: Final = {
    "c": "*.{c,h,H,cats}", "clojure": "*.{clj,cljc,cljs,cljx}", "config": "*.{cfg,conf,config,ini}",
    "cpp": "*.{C,H,cc,cpp,cxx,hh,hpp,hxx,inl}", "cs": "*.cs", "css": "*.{css,scss}", "csv": "*.csv", "cuda": "*.{cu,cuh}",
    "dart": "*.dart", "docker": "*Dockerfile*", "elixir": "*.{ex,eex,exs,heex,leex,livemd}", "elm": "*.elm",
    "erlang": "*.{erl,hrl}", "fsharp": "*.{fs,fsi,fsx}", "go": "*.go", "graphql": "*.{graphql,graphqls}",
    "groovy": "*.{gradle,groovy}", "haskell": "*.{hs,lhs,c2hs,cpphs}", "html": "*.{ejs,htm,html}",
    "java": "*.{java,jsp,jspx,properties}", "js": "*.{cjs,js,jsx,mjs,vue}", "json": "{*.json,composer.lock,*.sarif}",
    "julia": "*.jl", "jupyter": "*.{ipynb,jpynb}", "kotlin": "*.{kt,kts}", "less": "*.less", "log": "*.log", "lua": "*.lua",
    "make": "{[Mm]akefile,[Mm]akefile.*,*.mak,*.mk,GNUmakefile}", "markdown": "*.{markdown,md,mdown,mdwn,mdx,mkd,mkdn}",
    "md": "*.{markdown,md,mdown,mdwn,mdx,mkd,mkdn}", "nix": "*.nix", "objc": "*.{h,m}", "ocaml": "*.{ml,mli,mll,mly}",
    "perl": "*.{PL,perl,pl,plh,plx,pm,t}", "php": "*.{php,php3,php4,php5,php7,php8,pht,phtml}", "protobuf": "*.proto",
    "ps": "*.{cdxml,ps1,ps1xml,psd1,psm1}", "py": "*.{py,pyi}", "python": "*.{py,pyi}", "r": "*.{R,Rmd,Rnw,r}",
    "rst": "*.rst", "ruby": "{*.gemspec,*.rb,*.rbw,Gemfile,Rakefile,config.ru}", "rust": "*.rs", "sass": "*.{sass,scss}",
    "scala": "*.{sbt,scala}", "sh": "*.{bash,bashrc,csh,cshrc,ksh,sh,tcsh,zsh}", "sql": "*.{psql,sql}",
    "svelte": "{*.svelte,*.svelte.ts}", "svg": "*.svg", "swift": "*.swift", "terraform": "*.{tf,tfvars}",
    "tex": "*.{bib,cls,dtx,ins,ltx,sty,tex}", "toml": "{*.toml,Cargo.lock}", "ts": "*.{cts,mts,ts,tsx}",
    "txt": "*.txt", "typescript": "*.{cts,mts,ts,tsx}", "vue": "*.vue", "xml": "*.{dtd,rng,sch,svg,xhtml,xjb,xml,xsd,xsl,xslt}",
    "yaml": "*.{yaml,yml}", "zig": "*.zig",
}  # fmt: skip


def globs_of_type(name: str) -> str:
    """Return the glob of a file type.

    Raises:
        InvalidArgumentError: The type is unknown; names the most similar one.
    """
    found = FILE_TYPES.get(name)
    if found is None:
        hint = meant(name, list(FILE_TYPES))
        raise InvalidArgumentError(f"There is no file type {name[:40]!r}; glob takes any, such as *.ext; {hint}")
    return found


HEAD_LIMIT: Final = 250
MOST_ROWS: Final = 20_000
"""Maximum number of rows of a call without a limit."""
MOST_AROUND: Final = 20
_PAGE: Final = 1000
_MODES: Final[Mapping[str, Literal["content", "files", "count"]]] = {
    "content": "content",
    "files_with_matches": "files",
    "count": "count",
}
Around = Annotated[int | None, Field(ge=0)]


class Grep(Parameters):
    """Parameters of Grep."""

    pattern: Annotated[str, Field(description="Regular expression, as ripgrep's")]
    path: Annotated[str | None, Field(description="File or folder; the root if omitted")] = None
    glob: Annotated[str | None, Field(description="*.js, *.{ts,tsx}, !*.test.ts")] = None
    type: Annotated[str | None, Field(description="js, py, rust, …")] = None
    output_mode: Literal["content", "files_with_matches", "count"] = "files_with_matches"
    before: Around = Field(default=None, alias="-B")
    after: Around = Field(default=None, alias="-A")
    around: Around = Field(default=None, alias="-C")
    context: Around = None
    has_numbers: bool = Field(default=True, alias="-n")
    ignore_case: bool = Field(default=False, alias="-i")
    only_matching: bool = Field(default=False, alias="-o")
    multiline: bool = False
    head_limit: Annotated[int, Field(ge=0, description="First rows only; 0: all")] = HEAD_LIMIT
    offset: Annotated[int, Field(ge=0, description="Rows to skip")] = 0


async def grep(context: ToolContext, given: Grep) -> dict[str, Any]:
    """Search contents, page by page, until there are enough rows."""
    place = await located(context, given.path)
    glob, wants = _wanted(given)
    limit = given.head_limit or MOST_ROWS
    matches: list[GrepMatch] = []
    files: list[GrepFile] = []
    rows: list[str] = []
    warnings: list[dict[str, Any]] = []
    search = partial(
        place.files.grep_files, given.pattern, path=place.path, glob=glob, output_mode=_MODES[given.output_mode],
        ignore_case=given.ignore_case, multiline=given.multiline, context=max(_around(given)),
        only_matching=given.output_mode == "content" and given.only_matching,
        all=_names_hidden(place.path) or _names_hidden(given.glob or ""), limit=_PAGE, abort=context.is_aborted,
        progress=progress_of(context, "files searched"),
    )  # fmt: skip
    async for page in pages(search):
        warnings += page.warnings
        matches += [match for match in page.matches if wants(match.path)]
        files += [file for file in page.files if wants(file.path)]
        rows = list(rows_of(matches, given)) if given.output_mode == "content" else [file.path for file in files]
        if len(rows) > given.offset + limit:
            break
    shown = slice(given.offset, given.offset + limit)
    data = _shaped(given.output_mode, rows[shown], files[shown])
    data |= {"appliedLimit": limit} if len(rows) > given.offset + limit else {}
    data |= {"appliedOffset": given.offset} if given.offset else {}
    data |= {"warnings": warnings} if warnings else {}
    return data if rows else data | {"hints": _why_nothing(given, page)}


def _shaped(mode: str, rows: list[str], files: list[GrepFile]) -> dict[str, Any]:
    data: dict[str, Any] = {"mode": mode, "numFiles": len(files), "filenames": []}
    if mode == "files_with_matches":
        return data | {"filenames": rows}
    if mode == "content":
        return data | {"content": "\n".join(rows), "numLines": len(rows)}
    content = "\n".join(f"{printable(file.path)}:{file.count}" for file in files)
    return data | {"content": content, "numMatches": sum(file.count or 0 for file in files)}


def _why_nothing(given: Grep, page: GrepResult) -> list[str]:
    if page.files_searched == 0:
        limits = f"; glob is {given.glob!r}" if given.glob else f"; type is {given.type!r}" if given.type else ""
        return [f"there was no file to search{limits}"]
    return [] if given.ignore_case else ["matching is case-sensitive; -i=true ignores case"]


def _wanted(given: Grep) -> tuple[str | None, Callable[[str], bool]]:
    """Return the glob for the engine, and a filter for what it cannot express: further globs and exclusions."""
    parts = re.findall(r"(?:[^\s,{]|\{[^{}]*\})+", given.glob or "")
    wanted = [part for part in parts if not part.startswith("!")]
    unwanted = [Glob(each) for part in parts if part.startswith("!") for each in alternatives(part[1:])]
    globs = [Glob(each) for part in wanted for each in alternatives(part)]
    first = globs_of_type(given.type) if given.type is not None else wanted[0] if len(wanted) == 1 else None

    def wants(path: str) -> bool:
        is_in = not globs or any(glob.matches(path) for glob in globs)
        return is_in and not any(glob.matches(path) for glob in unwanted)

    return first, wants


def _names_hidden(path: str) -> bool:
    return any(segment.startswith(".") and segment.strip(".") for segment in path.split("/"))


MOST_FILES: Final = 100
MOST_COMPARED: Final = 20_000
"""Maximum number of files among which the newest are selected."""
_WILD: Final = re.compile(r"[*?\[]")


class GlobFiles(Parameters):
    """Parameters of Glob."""

    pattern: str
    path: Annotated[str | None, Field(description="Folder; the root if omitted")] = None


async def glob(context: ToolContext, given: GlobFiles) -> dict[str, Any]:
    """Return the newest files whose paths match."""
    started, progress = time.perf_counter(), progress_of(context, "names checked")
    place = await located(context, given.path)
    pattern = await _from_root(context, given.pattern, place)
    found, is_complete = await _found(context, progress, place, pattern, everywhere=False)
    if not found:
        # If nothing else matches, search hidden and ignored files, too.
        found, is_complete = await _found(context, progress, place, pattern, everywhere=True)
    # The newest first.
    found.sort(key=lambda entry: (0.0 if entry.modified is None else -entry.modified.timestamp(), entry.path))
    names = [entry.path for entry in found[:MOST_FILES]]
    return {
        "durationMs": round((time.perf_counter() - started) * 1000),
        "numFiles": len(names),
        "filenames": names,
        "truncated": len(found) > len(names),
        "totalMatches": len(found),
        "countIsComplete": is_complete,
    } | ({} if found else {"hints": ["a glob such as src/**/*.py must match the whole path and is case-sensitive"]})


async def _from_root(context: ToolContext, pattern: str, place: ServedPath) -> str:
    """Convert a pattern relative to a folder into one relative to the root, which the engine matches against whole paths."""
    if pattern.startswith("/"):
        fixed = _WILD.split(pattern, maxsplit=1)[0].rpartition("/")[0]
        place, pattern = await located(context, fixed), f".{pattern[len(fixed) :]}"
    return glob_below(place.path, pattern)


async def _found(
    context: ToolContext, progress: Callable[[int], None], place: ServedPath, pattern: str, *, everywhere: bool
) -> tuple[list[Entry], bool]:
    found: list[Entry] = []
    search = partial(
        place.files.search_files, pattern, path=place.path, all=everywhere, limit=_PAGE,
        abort=context.is_aborted, progress=progress,
    )  # fmt: skip
    async for page in pages(search):
        found += [entry for entry in page.entries if entry.type == "file"]
        if len(found) >= MOST_COMPARED:
            return found, page.next_cursor is None
    return found, True


def _glob_text(data: Mapping[str, Any], limits: TextLimits) -> str:
    if not data["filenames"]:
        return "No files found"
    text, kept = clipped("".join(f"{name}\n" for name in data["filenames"]), limits)
    if data["truncated"] or kept is not None:
        text += "(Results are truncated. Consider using a more specific path or pattern.)"
    return text.removesuffix("\n")


SEARCHING: tuple[AnyTool, ...] = (
    Tool(
        name="Glob",
        description=(
            'Find files by a pattern such as "**/*.py" or "src/**/*.{ts,tsx}", below path or the root. Returns at most 100'
            " paths, the last changed first."
        ),
        parameters=GlobFiles,
        handler=glob,
        group=GROUP,
        effect="read",
        looks_at="folder",
        has_body=True,
        present=presented(_glob_text),
    ),
    Tool(
        name="Grep",
        description=(
            "Search the contents of files with a regular expression. output_mode: files_with_matches (default), content (lines,"
            " with -A, -B, -C around, -n numbers, -o only what matches), count. Filter with glob or type. Ignored, hidden and"
            " binary files are skipped unless path or glob names them. head_limit and offset page."
        ),
        parameters=Grep,
        handler=grep,
        group=GROUP,
        effect="read",
        looks_at="folder",
        has_body=True,
        present=presented(grep_text),
    ),
)
