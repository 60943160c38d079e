"""Commands that answer what agents ask: `approvals`, `approve`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.syntax import Syntax

from filetools.cli import suggestions
from filetools.cli.command import workspace_command
from filetools.cli.desk import READING, Desk
from filetools.cli.terminal import STDOUT, print_line, print_note, printable

if TYPE_CHECKING:
    from filetools.facade.facade import FileToolsFacade
    from filetools.permissions.requests import ApprovalAnswer

_PANEL: Final = "Approvals"


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    workspace_command(
        app, READING, panel=_PANEL, examples=("filetools approvals", "filetools approvals --diff", "filetools approvals --json")
    )(approvals)  # fmt: skip
    workspace_command(
        app, READING, panel=_PANEL,
        examples=("filetools approve approval-0123456789abcdef", "filetools approve approval-0123456789abcdef --deny"),
    )(approve)  # fmt: skip


def approvals(
    desk: Desk,
    *,
    diff: Annotated[bool, typer.Option("--diff", help="Also show what each would change.")] = False,
) -> None:
    """List what agents wait for a person to allow.

    In whatever process they run; 'filetools approve' answers.
    """

    async def work(files: FileToolsFacade) -> dict[str, Any]:
        return {"approvals": [request.to_dict() for request in await files.approvals()]}

    desk.read(work, lambda found: _show(found["approvals"], with_diff=diff))


def approve(
    desk: Desk,
    approval_id: Annotated[
        str,
        typer.Argument(
            metavar="ID", help="Which; 'filetools approvals' lists them.", autocompletion=suggestions.questions
        ),
    ],
    *,
    deny: Annotated[bool, typer.Option("--deny", help="Refuse it.")] = False,
    for_run: Annotated[
        bool, typer.Option("--for-run", help="Allow it, and for this run of the agent the same from now on.")
    ] = False,
) -> None:
    """Allow what an agent asks for, once; or refuse it.

    An agent that has stopped waiting passes when it repeats the same call within ten minutes.
    """
    if deny and for_run:
        raise typer.BadParameter("--deny and --for-run exclude each other")
    answer: ApprovalAnswer = "deny" if deny else "allow_for_run" if for_run else "allow"

    async def work(files: FileToolsFacade) -> dict[str, Any]:
        await files.answer_approval(approval_id, answer)
        return {"approval_id": approval_id, "answer": answer}

    desk.read(work, lambda done: print_line(f"{done['answer'].replace('_', ' ')}  ", printable(done["approval_id"])))


def _show(requests: list[dict[str, Any]], *, with_diff: bool) -> None:
    if not requests:
        print_note("nothing waits for an answer")
    for request in requests:
        left = max(0, round(request["expires"] - time.time()))
        print_line(
            (request["id"], "bold"),
            f"  {printable(request['actor']['id'])}: ",
            printable(request["description"]),
            (f"  risk {request['risk']}, {request['reason']}, open for {left} s", "dim"),
        )
        if with_diff and request.get("diff"):
            text = "\n".join(printable(line) for line in request["diff"].splitlines())
            STDOUT.print(Syntax(text, "diff", background_color="default") if STDOUT.is_terminal else text)
