"""Unsaved text of editors: open buffers, how they follow their files, saving."""
