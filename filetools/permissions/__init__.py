"""Permissions: presets, rules, protected paths, and the approvals that people give."""
