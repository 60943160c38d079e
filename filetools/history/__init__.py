"""What was: undo, restore, checkpoints, differences between trees, and who wrote which line."""
