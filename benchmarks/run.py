"""Runs every benchmark after the other and shows what each prints; each has a floor of its own in the same run.

Usage: python benchmarks/run.py [NAME …]   names such as "facade" or "locks"; none runs all
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
LONGEST_SECONDS: Final = 300.0


def main(names: list[str]) -> int:
    """Run the benchmarks and return how many failed."""
    environment = {**os.environ, "PYTHONPATH": str(FOLDER.parent)}
    chosen = [place for place in sorted(FOLDER.glob("bench_*.py")) if not names or place.stem[6:] in names]
    failed = 0
    for place in chosen:
        started = time.monotonic()
        print(f"== {place.stem[6:]}", flush=True)
        try:
            done = subprocess.run([sys.executable, str(place)], env=environment, timeout=LONGEST_SECONDS, check=False)
            failed += done.returncode != 0
        except subprocess.TimeoutExpired:
            print(f"   stopped after {LONGEST_SECONDS:.0f} s")
            failed += 1
        print(f"   {time.monotonic() - started:.0f} s\n", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
