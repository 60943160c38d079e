"""The calls that search names and contents, and wait for changes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from filetools.changes.parts import Parts
from filetools.facade.calls import ActorCalls
from filetools.facade.progress import Abort, Looked, paced
from filetools.models.records import Actor
from filetools.models.searching import GrepResult, SearchResult, WatchResult
from filetools.paths.lexical import AnyPath
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.contents import options as matching
from filetools.search.contents.grep import grep_page
from filetools.search.contents.options import GrepOptions, OutputMode
from filetools.search.contents.unsaved import Unsaved
from filetools.search.listing import search_files
from filetools.search.options import ListOptions
from filetools.writer.worker_pool import Hop, WorkerPool

PAGE_MATCHES = 100


class SearchCalls(ActorCalls):
    """Calls that search and change nothing."""

    async def search_files(
        self,
        pattern: str,
        *,
        path: AnyPath = "",
        all: bool = False,  # noqa: A002 - the word of the tool
        limit: int = PAGE_MATCHES,
        cursor: str | None = None,
        abort: Abort | None = None,
        progress: Looked | None = None,
    ) -> SearchResult:
        """Return one page of the files and folders whose path matches a pattern, in the order of listings.

        Args:
            pattern: Without `*`, `?`, `[` and `{a,b}`, a part of the path, ignoring case. Otherwise a glob, matched with the
                name at any depth, or, if it contains a slash, with the whole path from the root.
            path: Folder to search below.
            all: True to include ignored and hidden names, and those that listings leave out.
            limit: Maximum number of matches, 1 to 1000.
            cursor: `next_cursor` of the previous page; it stays valid while files come and go.
            abort: Called regularly; True stops the search.
            progress: Called up to ten times a second with the number of names examined.

        Raises:
            DirectoryNotFoundError, PathNotDirectoryError, InvalidArgumentError, AbortedError
        """
        where = await self._readable("search_files", path, allow_root=True)
        options = ListOptions(
            recursive=True, limit=limit, include_hidden=all, use_gitignore=not all,
            default_excludes=() if all else self._parts.settings.exclude,
        )  # fmt: skip
        work = partial(search_files, self._parts.store, where, pattern, options, cursor, looked=paced(progress))
        return await stoppable(self._parts.workers, work, abort)

    async def glob_files(
        self,
        pattern: str,
        *,
        path: AnyPath = "",
        all: bool = False,  # noqa: A002 - the word of the tool
        limit: int = PAGE_MATCHES,
        cursor: str | None = None,
        abort: Abort | None = None,
        progress: Looked | None = None,
    ) -> SearchResult:
        """Same as `search_files`, under the name that other tools use."""
        return await self.search_files(
            pattern, path=path, all=all, limit=limit, cursor=cursor, abort=abort, progress=progress
        )

    async def grep_files(
        self,
        pattern: str,
        *,
        path: AnyPath = "",
        glob: str | None = None,
        output_mode: OutputMode = "content",
        ignore_case: bool = False,
        literal: bool = False,
        multiline: bool = False,
        whole_words: bool = False,
        context: int = 0,
        only_matching: bool = False,
        all: bool = False,  # noqa: A002 - the word of the tool
        limit: int = PAGE_MATCHES,
        cursor: str | None = None,
        abort: Abort | None = None,
        progress: Looked | None = None,
    ) -> GrepResult:
        """Return one page of the lines that match a pattern, in the order of listings.

        If an editor has unsaved text, that is searched instead of the file. Left out are files that are binary, ignored or
        hidden, files over `max_read_bytes` (with a warning), and files that this actor may not read.

        Args:
            pattern: A regular expression of the package `regex`, a superset of Python's `re`. Matches do not span lines,
                unless `multiline`.
            path: Folder to search below, or one file, which is searched whatever its name.
            glob: Only files that match, such as `*.py` or `src/**/*.{ts,tsx}`; see `search_files`.
            output_mode: "content" for the lines, "files" for the paths of files with a match, "count" for the number of
                matching lines in each file.
            ignore_case: True to ignore case.
            literal: True to search for the pattern as plain text.
            multiline: True to let matches span lines; `.` then also matches line ends.
            whole_words: True to match only whole words.
            context: Lines above and below each match, 0 to 20.
            only_matching: True to return the non-empty matches of each line as `matched`, and their positions as
                `columns`; lines without one are left out.
            all: True to include ignored, hidden and binary files, and those that listings leave out.
            limit: Maximum number of matches, or files, 1 to 1000.
            cursor: `next_cursor` of the previous page; it stays valid while files come and go.
            abort: Called regularly; True stops the search.
            progress: Called up to ten times a second with the number of files searched.

        Raises:
            PathNotFoundError, NotRegularFileError, InvalidArgumentError, AbortedError
            CallTimeoutError: Matching one file took more than 5 s.
        """
        where, settings = await self._readable("grep_files", path, allow_root=True), self._parts.settings
        options = matching.GrepOptions(
            pattern=pattern, glob=glob, output_mode=output_mode, ignore_case=ignore_case, literal=literal,
            multiline=multiline, context=context, only_matching=only_matching, all=all, limit=limit,
            whole_words=whole_words, default_excludes=settings.exclude, max_file_bytes=settings.max_read_bytes,
        )  # fmt: skip
        work = partial(grep, self._parts, self.actor, where, options, cursor, looked=paced(progress))
        return await stoppable(self._parts.workers, work, abort)

    async def watch_changes(
        self, since: str | None = None, *, path: AnyPath = "", wait_seconds: float = 0, limit: int = PAGE_MATCHES
    ) -> WatchResult:
        """Return recorded changes after a position, oldest first; waits for the first one if there is none yet.

        If the setting `watch` is off, the whole tree is looked at first, as by `look`.

        Args:
            since: `position` of the previous call; None means now, so a first call without waiting returns a position.
            path: Only changes of this file, or in and below this folder.
            wait_seconds: How long to wait, 0 to 50.
            limit: Maximum number of changes, 1 to 1000.

        Raises:
            InvalidArgumentError: The position is malformed, or a number is out of range.
        """
        where = await self._readable("watch_changes", path, allow_root=True)
        if not self._parts.settings.watch:
            await self._runner.look()
        key = self._parts.workspace.key
        work = self._feed.watch(since, below=where, key=key, wait_seconds=wait_seconds, limit=limit)
        return await self._runner.while_open(work)


T = TypeVar("T")


async def stoppable(workers: WorkerPool, work: Callable[..., T], abort: Abort | None) -> T:
    """Run work, which checks its argument `abort` regularly, in a worker thread.

    It stops soon after its caller is cancelled or `abort` returns True.
    """
    hop: Hop[T] = Hop()
    return await workers.start(partial(work, abort=lambda: hop.is_cancelled or (abort is not None and abort())), hop)


def grep(
    parts: Parts,
    actor: Actor,
    path: WorkspacePath,
    options: GrepOptions,
    cursor: str | None,
    *,
    abort: Abort,
    looked: Looked,
) -> GrepResult:
    """Return one page of the matches in files and in unsaved documents; call it in a worker thread."""
    # A search shows lines of files, so it needs the permission to read each of them.
    is_withheld = parts.gatekeeper.policy.withholding(actor, "grep_files", "read_file")
    return grep_page(
        parts.store, path, options, cursor, unsaved=_unsaved(parts, path), abort=abort, is_withheld=is_withheld,
        looked=looked,
    )  # fmt: skip


def _unsaved(parts: Parts, path: WorkspacePath) -> Unsaved:
    documents, key = parts.journal.documents, parts.workspace.key(path)

    def text_of(document_id: str) -> Callable[[], str | None]:
        def text() -> str | None:
            found = documents.text(document_id)
            return found[1] if found is not None and found[0].is_dirty else None

        return text

    dirty = [each for each in documents.all(key) if each.is_dirty]
    texts = {document.key: (document.path, text_of(document.id)) for document in dirty}
    return Unsaved(texts=texts, key=parts.workspace.key)
