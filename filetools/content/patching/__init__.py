"""Patches: read in the forms that models and git write, and applied."""
