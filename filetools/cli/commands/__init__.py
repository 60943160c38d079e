"""The commands, grouped by subject; see `filetools.cli.command.COMMANDS`."""
