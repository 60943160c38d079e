"""Taking changes back: undo and redo, checkpoints, restores, comparisons of trees."""
