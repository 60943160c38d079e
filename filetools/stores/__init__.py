"""Stores: trees of files with one interface."""
