"""The command: `python -m tally.main FILE...`."""

from __future__ import annotations

import sys
from pathlib import Path

from .counter import count_words, merge
from .report import lines_of


def main() -> None:
    """Print the most frequent words of the files named on the command line."""
    counts = [count_words(Path(name).read_text(encoding="utf-8")) for name in sys.argv[1:]]
    sys.stdout.write("\n".join(lines_of(merge(counts))) + "\n")


if __name__ == "__main__":
    main()
