"""What a call changes: decisions as pure functions, and overlays over the tree."""
