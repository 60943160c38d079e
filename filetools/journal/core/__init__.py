"""The journal of the single writer: records, rows of the tree, contents, and rows of other parts, in one database."""
