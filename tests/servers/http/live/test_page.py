"""The page about the protocol shows frames as they are."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from filetools.servers.http.live.frames import frame_of
from tests.support.declared import REPOSITORY
from tests.support.live_frames import TOLD_TYPES, check

PAGE = (REPOSITORY / "docs" / "live.md").read_text()
SHOWN: list[dict[str, Any]] = [json.loads(each) for each in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
FRAMES = [each for each in SHOWN if "type" in each]
SENT = ("hello", "open", "change", "save", "close", "answer", "abort", "ping")


@pytest.mark.parametrize("frame", FRAMES, ids=[f"{number}-{each['type']}" for number, each in enumerate(FRAMES)])
def test_each_frame_is_one_of_the_protocol(frame: dict[str, Any]) -> None:
    if frame["type"] in SENT:
        frame_of(frame)
    else:
        check(frame)


def test_every_type_is_shown() -> None:
    assert {each["type"] for each in FRAMES} == {*SENT, *TOLD_TYPES}
