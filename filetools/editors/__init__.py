"""What editors have open: documents shared by all of them, and the states that an editor keeps."""

from typing import TYPE_CHECKING

from filetools.deferred import deferred

if TYPE_CHECKING:
    from filetools.editors.documents import LEASE_SECONDS, Changed, Documents, changed, typed
    from filetools.editors.editor_state import EditorState
    from filetools.editors.known_documents import KnownDocuments
    from filetools.editors.open_text import OpenText
    from filetools.editors.shown import Selection, ShownDocument
    from filetools.editors.tree_state import TreeEntry, TreeListing, TreeState
    from filetools.editors.units import edits_from_units
else:
    __getattr__, __dir__ = deferred(
        __name__,
        {
            "filetools.editors.documents": "LEASE_SECONDS, Changed, Documents, changed, typed",
            "filetools.editors.editor_state": "EditorState",
            "filetools.editors.known_documents": "KnownDocuments",
            "filetools.editors.open_text": "OpenText",
            "filetools.editors.shown": "Selection, ShownDocument",
            "filetools.editors.tree_state": "TreeEntry, TreeListing, TreeState",
            "filetools.editors.units": "edits_from_units",
        },
    )

__all__ = [
    "LEASE_SECONDS",
    "Changed",
    "Documents",
    "EditorState",
    "KnownDocuments",
    "OpenText",
    "Selection",
    "ShownDocument",
    "TreeEntry",
    "TreeListing",
    "TreeState",
    "changed",
    "edits_from_units",
    "typed",
]
