"""Every class of error tells its caller what to do next."""

from __future__ import annotations

import pickle

from filetools.errors import AbsolutePathError, FileTooLargeError, FileToolsError, PathNotFoundError, PathTraversalError


def classes(base: type[FileToolsError] = FileToolsError) -> list[type[FileToolsError]]:
    return [base, *(each for child in base.__subclasses__() for each in classes(child))]


def test_every_class_suggests_what_to_do_next() -> None:
    known = [each for each in classes() if each.__module__ == "filetools.errors"]
    assert len(known) >= 47
    for each in known:
        error = each.__new__(each)
        FileToolsError.__init__(error, "it failed")
        assert error.suggested_action == each.action != "", each.__name__


def test_an_empty_path_is_the_root_but_where_a_path_is_quoted_as_it_was_sent() -> None:
    said = [str(kind("")) for kind in (PathNotFoundError, AbsolutePathError, PathTraversalError)]
    assert said == ["File not found: .", "Absolute path not allowed: ''", "Path '' contains a '..' segment"]


def test_an_error_passes_between_processes_whole() -> None:
    for error in (PathNotFoundError("a"), FileTooLargeError("a", 3, 2)):
        copied = pickle.loads(pickle.dumps(error))
        assert (type(copied), copied.args, vars(copied)) == (type(error), error.args, vars(error))
