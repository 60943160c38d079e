"""Patches: parses the formats that models and git write, and applies them."""
