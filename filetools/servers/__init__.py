"""Servers: protocols that programs speak. Each translates, and decides nothing."""
