from __future__ import annotations

from importlib.util import find_spec

import pytest

from filetools.facade.facade import FileToolsFacade
from tests.support.dialects import Session

# The interfaces' own types are the judges; whoever works on the rest without them can run the rest.
collect_ignore = [
    *([] if find_spec("anthropic") else ["test_memory.py", "test_text_editor.py"]),
    *([] if find_spec("openai") else ["test_apply_patch.py"]),
]


@pytest.fixture
def session(request: pytest.FixtureRequest, files: FileToolsFacade) -> Session:
    """A session with the tools that the test's module names `DIALECT`."""
    return Session(files, request.module.DIALECT)
