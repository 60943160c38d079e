"""How open documents follow their files, are saved to them, and are published."""
