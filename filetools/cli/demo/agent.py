"""The agent of the demo: does what its script says, whatever the prompt is, and speaks stream-json as agents do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

REPORT: Final = "claudedocs/report.md"
TEXT: Final = "# Report\n\nThe plan is sound.\n"


def main() -> None:
    """Answer a prompt: write one file past filetools, as agents' own tools do, and change one through it."""
    sys.stdin.read()
    _say("I read the plan, write a report, and mark the plan as reviewed.")
    _tell("assistant", {"type": "tool_use", "id": "t1", "name": "Write", "input": {"file_path": REPORT}})
    Path(REPORT).parent.mkdir(exist_ok=True)
    Path(REPORT).write_text(TEXT, encoding="utf-8")
    _tell("user", {"type": "tool_result", "tool_use_id": "t1", "content": "ok"})
    edit = ("edit", "plan.md", "--old", "draft", "--new", "reviewed")
    subprocess.run((sys.executable, "-m", "filetools", *edit), stdout=subprocess.DEVNULL, check=True)
    _say(f"The report is in {REPORT}.")
    _print(type="result", subtype="success", is_error=False, result="")


def _say(text: str) -> None:
    _tell("assistant", {"type": "text", "text": text})


def _tell(role: str, block: dict[str, Any]) -> None:
    _print(type=role, message={"role": role, "content": [block]})


def _print(**message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
