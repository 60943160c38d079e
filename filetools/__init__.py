"""filetools."""
