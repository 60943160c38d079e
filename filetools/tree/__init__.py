"""The entries of the tree as far as filetools knows, and detection of changes by other programs."""
