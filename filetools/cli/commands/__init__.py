"""The commands, one module for those that belong together. Which there are stands here, so that one is imported alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "demo": ("playing", "See many writers at work, and count what is lost."),
    "read": ("reading", "Print a file, or some of its lines."),
    "ls": ("reading", "List a folder."),
    "info": ("reading", "Show what is known of a file or folder."),
    "find": ("searching", "Find files and folders by name."),
    "grep": ("searching", "Find lines in files, and in text that editors have not saved."),
    "write": ("writing", "Create or replace a file."),
    "append": ("writing", "Add to the end of a file; makes it if missing."),
    "edit": ("editing", "Replace exact text in a file; every other byte stays as it is."),
    "patch": ("editing", "Apply a patch to any number of files, all or nothing."),
    "rm": ("arranging", "Delete files or folders."),
    "mv": ("arranging", "Move or rename a file or folder."),
    "cp": ("arranging", "Copy a file's bytes and mode."),
    "mkdir": ("arranging", "Make a folder and its missing parents."),
    "log": ("feed", "Print the newest changes, newest first."),
    "follow": ("feed", "Print changes as they happen, until interrupted."),
    "versions": ("looking_back", "List the versions that a file has had, newest first."),
    "diff": ("looking_back", "Show what changed in the whole tree, or in a file."),
    "who": ("looking_back", "Show who wrote each line of a file last."),
    "checkpoint": ("keeping", "Keep the state of the whole tree, to restore it later."),
    "checkpoints": ("keeping", "List the checkpoints, oldest first, with time and size."),
    "undo": ("going_back", "Take changes back, all or nothing."),
    "redo": ("going_back", "Take your last undo, or your last restore, back."),
    "restore": ("going_back", "Have the tree, or a part of it, be as it was at a checkpoint."),
    "run": (
        "runs",
        "Run an agent, or any program; tell what it created, modified and deleted, and how to take it back.",
    ),
    "runs": (
        "runs",
        "List the runs of agents, newest first, or show one with what it has created, modified and deleted.",
    ),
    "init": ("starting", "Make a folder a root, with the state that keeps its history."),
    "status": ("mirror", "Show what changed since the last checkpoint, what is unsaved, and what waits for you."),
    "sync": ("mirror", "Make the mirror equal to the workspace."),
    "mirror": ("mirror_list", "List, add or remove the mirrors that the root remembers."),
    "project": ("projects", "Register folders as projects, which agents of this root may look into."),
    "instances": (
        "projects",
        "List the agents and servers that run on this root; pin one to have it listed before the others.",
    ),
    "call": ("tools", "Call a tool as an agent does and print its envelope."),
    "tools": (
        "tools",
        "List the tools that agents get, or print their definitions for the interface of a model.",
    ),
    "fd": ("descriptors", "Read the long results that an agent got as descriptors."),
    "context": (
        "context",
        "Show what an agent is told of a folder: git, README, instructions, dependencies, and the text for a prompt.",
    ),
    "history": ("history", "Read what people told their agents from the logs of agents, and make rules of it."),
    "mcp": ("serving", "Serve agents over MCP on standard input and output."),
    "serve": ("serving_http", "Serve files, tools and changes over HTTP, and MCP at /mcp."),
    "approvals": ("answering", "List what agents wait for a person to allow."),
    "approve": ("answering", "Allow what an agent asks for, once; or refuse it."),
    "doctor": ("checking", "Say what is missing or wrong, and what to do about it."),
}
"""The module and the first sentence of each command, in the order of the help; the sentence is what a shell offers it with."""
