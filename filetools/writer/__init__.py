"""The single writer: all changes of a workspace, in turns, under one lock of the root."""
