"""Names and contents: listings in pages, walks over the tree, searches."""
