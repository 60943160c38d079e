"""The commands, one module for those that belong together; see `filetools.cli.command.COMMANDS`."""
