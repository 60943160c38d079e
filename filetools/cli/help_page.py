"""Commands with pages of `--help`: plain text with headings and columns, folded to the terminal, examples at the end."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, Final

from rich import text as rich_text
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from filetools.cli.terminal import STDOUT, line_width, print_beside
from filetools.cli.workplace import is_readable

WIDEST_NAME: Final = 26
_OPTIONS: Final = "Options"
_INDENT: Final = 2
_METAVARS: Final = {
    "int": "N",
    "int range": "N",
    "list[int]": "N",
    "str": "TEXT",
    "list[str]": "TEXT",
    "directory": "DIR",
}
"""What stands for a value whose option does not say it; choices and others are shown as they are."""


class PagedCommand(TyperCommand):
    """A command with such a page; its examples are its epilog, one a line."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters."""
        return checked_if_needed(super().get_params(ctx), ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what follows the name of the command in its usage."""
        return ["[OPTIONS]", *(_usage(each) for each in self.get_params(ctx) if isinstance(each, TyperArgument))]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse what stands on the line, while a shell completes it also without the value that is being typed."""
        # Typer gives up on a line that ends in an option without its value, and then knows of no argument before it.
        is_open = ctx.resilient_parsing and any(
            isinstance(each, TyperOption) and not each.is_flag and args[-1] in each.opts
            for each in self.get_params(ctx)
            if args
        )
        if not any(each.name == "command" for each in self.get_params(ctx)):
            return super().parse_args(ctx, args[:-1] if is_open else args)
        # What follows -- is another program's line: none of it is taken for an argument of this one.
        at = args.index("--") if "--" in args else len(args)
        rest = super().parse_args(ctx, args[: at - 1] if is_open else args[:at])
        if ctx.params.get("command") and not ctx.resilient_parsing:
            ctx.fail(f"Got unexpected extra argument ({ctx.params['command'][0]}); a command stands after --")
        ctx.params["command"] = args[at + 1 :]
        return rest

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the page."""
        _print_head(ctx, self.help or "")
        params = self.get_params(ctx)
        arguments = [each for each in params if isinstance(each, TyperArgument)]
        _print_part("Arguments", [(rich_text.Text(str(each.metavar), "cyan"), each.help or "") for each in arguments])
        _print_options(ctx, params)
        _print_examples(self.epilog)


class PagedGroup(TyperGroup):
    """The commands together, with such a page."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the page."""
        _print_head(ctx, self.help or "")
        commands = [command for name in self.list_commands(ctx) if (command := self.get_command(ctx, name))]
        width = max(len(str(command.name)) for command in commands)
        panels = dict.fromkeys(getattr(command, "rich_help_panel", None) for command in commands)
        for panel in panels:
            rows = (
                (rich_text.Text(str(command.name).ljust(width), "cyan"), summary(command.help))
                for command in commands
                if getattr(command, "rich_help_panel", None) == panel
            )
            _print_part(panel or "Commands", rows)
        _print_options(ctx, self.get_params(ctx))
        STDOUT.print(
            rich_text.Text(f"\n'{ctx.command_path} COMMAND --help' shows the options and examples of a command.", "dim")
        )
        _print_examples(self.epilog)


def _print_examples(epilog: str | None) -> None:
    examples = (epilog or "").splitlines()
    if examples:
        STDOUT.print(rich_text.Text("\nExamples", "bold"))
    for example in examples:
        STDOUT.print(rich_text.Text(f"{' ' * _INDENT}{example}"))


def checked_if_needed(params: list[Any], ctx: Any) -> list[Any]:
    """Return parameters that check what may be wrong only: for each of them typer asks pydantic, which loads slowly.

    Those of a line that a shell completes stay as they are typed.
    """
    for each in params:
        vars(each)["process_value"] = (
            (lambda _, value: value) if ctx.resilient_parsing else partial(_checked_if_needed, each)
        )
    return params


def _checked_if_needed(param: Any, ctx: Any, value: Any) -> Any:
    is_text = isinstance(value, str) and param.type_descriptor.annotation is str
    is_path = isinstance(value, str) and _is_readable_path(param.type_descriptor, value)
    if not (is_text or is_path) and (value is not None or param.required):
        return type(param).process_value(param, ctx, value)
    known = () if value is None and (param.multiple or param.nargs == -1) else Path(value) if is_path else value
    return known if param.callback is None else param.callback(ctx, param, known)


def _is_readable_path(descriptor: Any, value: str) -> bool:
    """Whether a value is a path of which nothing else is asked than that it can be read, and it can."""
    asked = descriptor.parameter_info
    is_free = asked.file_okay and asked.dir_okay and asked.path_type is None
    is_free = is_free and not (asked.exists or asked.writable or asked.resolve_path or asked.allow_dash)
    return descriptor.annotation is Path and is_free and is_readable(value)


def summary(description: str | None) -> str:
    """Return the first sentence of a description, which a list of commands shows."""
    return " ".join((description or "").partition("\n\n")[0].split())


def _print_head(ctx: Any, description: str) -> None:
    STDOUT.print(rich_text.Text.assemble(("Usage: ", "dim"), (ctx.get_usage().removeprefix("Usage: "), "bold")))
    for paragraph in description.split("\n\n"):
        STDOUT.print()
        STDOUT.print(rich_text.Text("\n".join(textwrap.wrap(" ".join(paragraph.split()), line_width()))))


def _print_options(ctx: Any, params: Iterable[object]) -> None:
    options = [each for each in params if isinstance(each, TyperOption) and not each.hidden]
    for panel in dict.fromkeys((None, *(each.rich_help_panel for each in options))):
        rows = ((_spelling(ctx, each), _explanation(each)) for each in options if each.rich_help_panel == panel)
        _print_part(panel or _OPTIONS, rows)


def _print_part(heading: str, rows: Iterable[tuple[rich_text.Text, str]]) -> None:
    known = list(rows)
    if not known:
        return
    STDOUT.print(rich_text.Text(f"\n{heading}", "bold"))
    widest = min(max(name.cell_len for name, _ in known), WIDEST_NAME)
    for name, explanation in known:
        name.pad_left(_INDENT)
        print_beside(name, explanation, start=_INDENT + widest + 2)


def _spelling(ctx: Any, option: TyperOption) -> rich_text.Text:
    short = next((each for each in option.opts if not each.startswith("--")), "")
    longer = ", ".join(each for each in (*option.opts, *option.secondary_opts) if each.startswith("--"))
    metavar = "" if option.is_flag else f" {option.metavar or _metavar(option.display_type(ctx).strip('<>'))}"
    return rich_text.Text.assemble((f"{short}, " if short else "    ", "cyan"), (longer, "cyan"), metavar)


def _explanation(option: TyperOption) -> str:
    default: object = option.default
    is_shown = option.show_default and not option.is_flag and isinstance(default, int | str)
    return f"{option.help or ''}{f' [{default}]' if is_shown else ''}"


def _metavar(kind: str) -> str:
    return _METAVARS.get(kind, kind if "|" in kind else kind.upper())


def _usage(argument: TyperArgument) -> str:
    many = "..." if argument.nargs != 1 else ""
    name = f"{argument.metavar}{many}"
    return name if argument.required else f"[{name}]"
