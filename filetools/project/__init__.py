"""Facts about projects: description, state, dependencies, and instructions. Code of a project is never executed."""
