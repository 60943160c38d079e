"""What holds for all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# The same examples in every run, however slow the machine: a failure comes back, and a run says something of the code
# alone. Others are tried with `--hypothesis-profile=default`.
settings.register_profile(
    "steady",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("steady")
