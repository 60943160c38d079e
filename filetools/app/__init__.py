"""Opens workspaces from their settings, and holds what the interfaces need to know about an open one."""
