"""File tools for AI agents and editors: agents and people share one tree, and nobody's work is lost.

async with filetools.open("project", mirror="backup") as files:
    before = await files.read_file("src/app.py")
    await files.write_file("src/app.py", before.content + "\\n", expected_version=before.version)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from filetools.public import *  # noqa: F403 - the module lists its names
else:

    def __getattr__(name: str) -> Any:
        """Load the public names with the first of them, so that `import filetools` alone stays cheap (PEP 562)."""
        public = import_module("filetools.public")
        if name != "__all__" and name not in public.__all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(public, name)

    def __dir__() -> list[str]:
        return [*globals(), *import_module("filetools.public").__all__]
