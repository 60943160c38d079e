"""Path rules and race-free opening: what a path may be, and how it becomes a descriptor that no race can redirect."""
