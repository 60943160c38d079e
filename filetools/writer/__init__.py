"""The single writer: all changes of the tree are made in turns, under one lock of the root."""
