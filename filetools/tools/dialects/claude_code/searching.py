"""Grep: lines, files or counts of what matches, as the rows that grep prints. Glob: files by their names, the newest first."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Annotated, Any, Final, Literal

from msgspec import Struct
from pydantic import Field

from filetools.errors import InvalidArgumentError
from filetools.models.listing import Entry
from filetools.models.searching import GrepFile, GrepMatch, GrepResult
from filetools.paths.patterns import Glob, alternatives, glob_below, is_glob
from filetools.printable import printable
from filetools.tools.arguments import Parameters, nearest_name
from filetools.tools.bodies import Line, Lines, line_groups
from filetools.tools.dialects.claude_code.places import GROUP, located, own_hints
from filetools.tools.dialects.dialect import presented, repairs_of
from filetools.tools.roots import ServedPath
from filetools.tools.searching import SearchProgress, case_blind, first_found, glob_meant, grep_readings
from filetools.tools.seen import TextLimits, clipped
from filetools.tools.tool import AnyTool, Tool, ToolContext

_UNSAVED = "  (unsaved text of an editor)"


class GrepRowForm(Struct, frozen=True, kw_only=True):
    """How rows look."""

    before: int
    """Lines above each match."""
    after: int
    """Lines below."""
    has_numbers: bool
    only_matching: bool


class RowWindow(Struct, frozen=True, kw_only=True):
    """Which rows are asked for."""

    offset: int
    limit: int

    def has_all(self, count: int) -> bool:
        """Whether so many rows are enough to know that there are more."""
        return count > self.offset + self.limit

    def cut(self, rows: list[str]) -> list[str]:
        """Return the rows of the window."""
        return rows[self.offset : self.offset + self.limit]

    def facts(self, count: int) -> dict[str, Any]:
        """Return what is told of it, where it left out anything."""
        limit = {"appliedLimit": self.limit} if self.has_all(count) else {}
        return limit | ({"appliedOffset": self.offset} if self.offset else {})


def rows_of(matches: Iterable[GrepMatch], form: GrepRowForm) -> Iterator[str]:
    """Yield the rows of matches, which come file by file and in the order of lines."""
    is_first = True
    for path, of_file in groupby(matches, key=lambda match: match.path):
        groups: Iterator[list[Line]]
        if form.only_matching:
            groups = (_matched(match) for match in of_file)
        else:
            groups = line_groups(_lines(match, form) for match in of_file)
        for group in groups:
            if (form.before or form.after) and not is_first:
                yield "--"
            is_first = False
            for number, (sign, text) in group:
                place = f"{number}{sign}" if form.has_numbers else ""
                yield f"{printable(path)}{sign}{place}{text}"


def _matched(match: GrepMatch) -> list[Line]:
    remark = _UNSAVED if match.origin == "buffer" else ""
    return [(match.line, (":", part + remark)) for text in match.matched or () for part in text.split("\n")]


def _lines(match: GrepMatch, form: GrepRowForm) -> Lines:
    remark = _UNSAVED if match.origin == "buffer" else ""
    above = (match.before or [])[-form.before :] if form.before else []
    below = (match.after or [])[: form.after]
    dots = "\u2026" if match.clipped else ""
    own = [f"{dots}{text}{dots}{remark}" for text in match.text.split("\n")]
    return (
        [(number, ("-", text)) for number, text in enumerate(above, match.line - len(above))],
        [(number, (":", text)) for number, text in enumerate(own, match.line)],
        [(number, ("-", text)) for number, text in enumerate(below, (match.end_line or match.line) + 1)],
    )


def grep_text(data: Mapping[str, Any], limits: TextLimits) -> str:
    """Return the text of what Grep found, for a model."""
    window = ", ".join(
        f"{word}: {data[name]}"
        for word, name in (("limit", "appliedLimit"), ("offset", "appliedOffset"))
        if name in data
    )
    if data["mode"] == "files_with_matches":
        if not data["filenames"]:
            return "No files found"
        head = f"Found {_counted(data['numFiles'], 'file')}{f' {window}' if window else ''}"
        return _cut("\n".join((head, *data["filenames"])), limits)
    body = _cut(data["content"], limits) or "No matches found"
    if data["mode"] == "content":
        return body + (f"\n\n[Showing results with pagination = {window}]" if window else "")
    total = f"Found {_counted(data['numMatches'], 'total occurrence')} across {_counted(data['numFiles'], 'file')}."
    return f"{body}\n\n{total}" + (f" with pagination = {window}" if window else "")


def _cut(text: str, limits: TextLimits) -> str:
    shown, kept = clipped(text, limits)
    return text if kept is None else f"{shown}[only {kept} rows shown: use head_limit and offset, or search for less]"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


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
    """Return the glob of a type of files.

    Raises:
        InvalidArgumentError: There is none of that name; names the nearest.
    """
    found = FILE_TYPES.get(name)
    if found is None:
        nearest = nearest_name(name, list(FILE_TYPES))
        hint = f"did you mean {nearest!r}?" if nearest else "use glob instead, such as *.ext"
        raise InvalidArgumentError(f"There is no type of files named {name[:40]!r}; {hint}")
    return found


HEAD_LIMIT: Final = 250
MOST_ROWS: Final = 20_000
"""Rows of a call that sets no limit."""
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
    path: Annotated[str | None, Field(description="File or folder; the root if left out")] = None
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
    offset: Annotated[int, Field(ge=0, description="Rows to leave out before")] = 0


async def grep(context: ToolContext, given: Grep) -> dict[str, Any]:
    """Search contents; what finds nothing, or is not a regex, also in another way in which it can be read."""
    search = _GrepSearch(context, given, await located(context, given.path))

    async def other(change: Mapping[str, Any]) -> dict[str, Any] | None:
        read = search.read_as(change)
        data = await read.data()
        return data if read.has_found else None

    async with own_hints(search.place):
        try:
            data = await search.data()
        except InvalidArgumentError as error:
            if "position" not in error.details:
                raise
            found = await first_found(grep_readings(given.pattern, given.glob, is_regex=False), other)
            if found is None:
                raise
        else:
            if search.has_found:
                return data
            found = await first_found(grep_readings(given.pattern, given.glob, fits_none=search.fits_none), other)
        if found is not None:
            return found[0] | repairs_of([{"code": "REPAIRED", "message": found[1]}])
        if search.fits_none:
            limits = f"; glob is {given.glob!r}" if given.glob else f"; type is {given.type!r}" if given.type else ""
            return data | {"hints": [f"there was no file to search{limits}"]}
        blind = {"ignore_case": True, "output_mode": "files_with_matches", "head_limit": 1}
        found = None if given.ignore_case else await first_found([(blind, "found with -i=true, such as in")], other)
        return data | {"hints": [] if found is None else [f"{found[1]} {found[0]['filenames'][0]}"]}


async def _content(search: _GrepSearch, given: Grep, window: RowWindow) -> dict[str, Any]:
    form = _form(given)
    matches: list[GrepMatch] = []
    rows: list[str] = []
    async for page in search.pages(max(form.before, form.after)):
        matches += [match for match in page.matches if search.wants(match.path)]
        rows = list(rows_of(matches, form))
        if window.has_all(len(rows)):
            break
    shown = window.cut(rows)
    return {
        "mode": "content",
        "numFiles": 0,
        "filenames": [],
        "content": "\n".join(shown),
        "numLines": len(shown),
        **window.facts(len(rows)),
    }


async def _files(search: _GrepSearch, given: Grep, window: RowWindow) -> dict[str, Any]:
    files: list[GrepFile] = []
    async for page in search.pages(0):
        files += [file for file in page.files if search.wants(file.path)]
        if window.has_all(len(files)):
            break
    shown = files[window.offset : window.offset + window.limit]
    facts = {"mode": given.output_mode, "numFiles": len(shown)} | window.facts(len(files))
    if given.output_mode == "files_with_matches":
        return facts | {"filenames": [file.path for file in shown]}
    content = "\n".join(f"{printable(file.path)}:{file.count}" for file in shown)
    return facts | {"filenames": [], "content": content, "numMatches": sum(file.count or 0 for file in shown)}


class _GrepSearch:
    """One search, page by page; lives for one call."""

    def __init__(self, context: ToolContext, given: Grep, place: ServedPath, *, is_literal: bool = False) -> None:
        self._context = context
        self._given = given
        self._is_literal = is_literal
        self.place = place
        self.has_found = False
        self.fits_none = False
        """Whether there was no file to search."""
        self._warnings: list[dict[str, Any]] = []
        self._glob, self.wants = _wanted(given)

    def read_as(self, change: Mapping[str, Any]) -> _GrepSearch:
        """Return a changed search in the same place."""
        given = self._given.model_copy(update={name: value for name, value in change.items() if name != "literal"})
        return _GrepSearch(self._context, given, self.place, is_literal="literal" in change)

    async def data(self) -> dict[str, Any]:
        """Return what is found, in the shape that was asked for."""
        given = self._given
        window = RowWindow(offset=given.offset, limit=given.head_limit or MOST_ROWS)
        shape = _content if given.output_mode == "content" else _files
        data = await shape(self, given, window)
        return data | ({"warnings": self._warnings} if self._warnings else {})

    async def pages(self, context_lines: int) -> AsyncIterator[GrepResult]:
        given, cursor = self._given, None
        is_content = given.output_mode == "content"
        told = SearchProgress(self._context, "files searched")
        for _ in range(MOST_ROWS // _PAGE):
            page = await self.place.files.grep_files(
                given.pattern,
                path=self.place.path,
                glob=self._glob,
                output_mode=_MODES[given.output_mode],
                ignore_case=given.ignore_case,
                literal=self._is_literal,
                multiline=given.multiline,
                context=context_lines,
                only_matching=is_content and given.only_matching,
                all=_names_hidden(self.place.path) or _names_hidden(given.glob or ""),
                limit=_PAGE,
                cursor=cursor,
                abort=self._context.is_aborted,
                progress=told.page(),
            )
            self._warnings += page.warnings
            self.has_found = self.has_found or bool(page.total)
            self.fits_none = page.files_searched == 0
            yield page
            cursor = page.next_cursor
            if cursor is None:
                return


def _form(given: Grep) -> GrepRowForm:
    both = given.around if given.context is None else given.context
    before = both if given.before is None else given.before
    after = both if given.after is None else given.after
    is_bare = given.only_matching
    return GrepRowForm(
        before=0 if is_bare else min(before or 0, MOST_AROUND),
        after=0 if is_bare else min(after or 0, MOST_AROUND),
        has_numbers=given.has_numbers,
        only_matching=given.only_matching,
    )


def _wanted(given: Grep) -> tuple[str | None, Callable[[str], bool]]:
    """Return the glob for the engine, and what it cannot say: a second one, and those that leave out."""
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
"""Files among which the newest are looked for."""
_WILD: Final = re.compile(r"[*?\[]")


class GlobFiles(Parameters):
    """Parameters of Glob."""

    pattern: str
    path: Annotated[str | None, Field(description="Folder; the root if left out")] = None


async def glob(context: ToolContext, given: GlobFiles) -> dict[str, Any]:
    """Return the newest files whose paths match."""
    started, told = time.perf_counter(), SearchProgress(context, "names looked at")
    place = await located(context, given.path)
    found, is_complete = await _matching(context, told, given.pattern, place)
    news: dict[str, Any] = {} if found else {"hints": []}
    if not found and (meant := glob_meant(given.pattern)) is not None:
        said = f"Nothing fits {given.pattern!r}; it was read as the glob {meant!r}"
        found, is_complete = await _matching(context, told, meant, place)
        news = repairs_of([{"code": "REPAIRED", "message": said}]) if found else news
    blind = case_blind(given.pattern)
    if not found and is_glob(blind) and blind != given.pattern:
        fits, _ = await _matching(context, told, blind, place)
        news = {"hints": [f"case counts; without it {entry.path} fits" for entry in fits[:1]]}
    found.sort(key=_age)
    names = [entry.path for entry in found[:MOST_FILES]]
    return {
        "durationMs": round((time.perf_counter() - started) * 1000),
        "numFiles": len(names),
        "filenames": names,
        "truncated": len(found) > len(names),
        "totalMatches": len(found),
        "countIsComplete": is_complete,
        **news,
    }


async def _matching(
    context: ToolContext, told: SearchProgress, raw_pattern: str, place: ServedPath
) -> tuple[list[Entry], bool]:
    pattern = await _from_root(context, raw_pattern, place)
    async with own_hints(place):
        found, is_complete = await _found(context, told, place, pattern, everywhere=False)
        if not found:
            # Hidden and ignored files count where nothing else matches: then they are what is meant.
            found, is_complete = await _found(context, told, place, pattern, everywhere=True)
    return found, is_complete


async def _from_root(context: ToolContext, pattern: str, place: ServedPath) -> str:
    """Return a pattern of a folder as one from the root, which the engine compares with whole paths."""
    if pattern.startswith("/"):
        fixed = _WILD.split(pattern, maxsplit=1)[0].rpartition("/")[0]
        place, pattern = await located(context, fixed), f".{pattern[len(fixed) :]}"
    return glob_below(place.path, pattern)


async def _found(
    context: ToolContext, told: SearchProgress, place: ServedPath, pattern: str, *, everywhere: bool
) -> tuple[list[Entry], bool]:
    found: list[Entry] = []
    cursor: str | None = None
    while len(found) < MOST_COMPARED:
        page = await place.files.search_files(
            pattern, path=place.path, all=everywhere, limit=_PAGE, cursor=cursor, abort=context.is_aborted,
            progress=told.page(),
        )  # fmt: skip
        found += [entry for entry in page.entries if entry.type == "file"]
        cursor = page.next_cursor
        if cursor is None:
            break
    return found, cursor is None


def _age(entry: Entry) -> tuple[float, str]:
    """Return what sorts files by their time, the newest first."""
    return (0.0 if entry.modified is None else -entry.modified.timestamp(), entry.path)


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
        level="auto",
        effect="read",
        looks_at="folder",
        is_idempotent=True,
        has_body=True,
        present=presented(_glob_text),
    ),
    Tool(
        name="Grep",
        description=(
            "Search the contents of files with a regular expression. output_mode: files_with_matches (default), content (lines,"
            " with -A, -B, -C around, -n numbers, -o only what matches), count. Filter with glob or type. Ignored, hidden and"
            " binary files are left out, unless path or glob name them. head_limit and offset page."
        ),
        parameters=Grep,
        handler=grep,
        group=GROUP,
        level="auto",
        effect="read",
        looks_at="folder",
        is_idempotent=True,
        has_body=True,
        present=presented(grep_text),
    ),
)
