"""What a call changes: decisions as pure functions, drafts over the tree, and plans of operations."""
