"""What a project is, what state it is in, and which instructions apply in it; nothing of it is ever run."""
