"""Adapters: the interfaces that frameworks for agents define, on our engine. One module a framework, imported by its name.

Each takes the facade of one agent. One that a program imports without its framework says what to install.
"""
