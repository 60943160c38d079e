from __future__ import annotations

import json
from typing import Any

import pytest

from filetools.tools.call_log import MAX_CHARACTERS, MAX_ITEMS, summarised

SECRETS = [
    "sk-" + "a1" * 12,
    "xoxb-" + "1234567890ab",
    "Bearer " + "abcdefgh1234",
    "eyJ" + "hbGciOiJI.eyJzdWIiOiIx.sig",
    "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIE" * 200,
    "https://ann:hunter2@example.org/x",
    "password=hunter2",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_what_looks_like_a_secret_is_hidden_wherever_it_stands(secret: str) -> None:
    kept = json.dumps(summarised({"path": f"x {secret} y", "names": [secret], "deep": {"x": {"y": secret}}}))
    assert secret not in kept
    assert "hunter2" not in kept
    assert "MIIE" not in kept


@pytest.mark.parametrize(
    "name", ["password", "apiKey", "api_key", "client_secret", "Authorization", "access_token", "token", "authToken"]
)
def test_what_stands_under_the_name_of_a_secret_is_hidden(name: str) -> None:
    assert summarised({name: "plain"}) == {name: "***"}
    assert summarised({"headers": {name: ["plain"]}}) == {"headers": {name: "***"}}


@pytest.mark.parametrize("name", ["content", "old_string", "new_string", "patch"])
def test_contents_of_files_become_their_length(name: str) -> None:
    assert summarised({name: "secret text"}) == {name: "<11 characters>"}
    assert summarised({"items": [{"path": "a", name: "x"}]}) == {"items": [{"path": "a", name: "<1 characters>"}]}


def test_long_texts_lists_and_objects_are_cut() -> None:
    kept = summarised({"path": "x" * 10_000, "paths": ["a"] * 100, **{f"k{number}": 1 for number in range(100)}})
    assert kept["path"] == "x" * MAX_CHARACTERS + "... (10000 characters)"
    assert kept["paths"][-1] == "... 80 more"
    assert len(kept) == MAX_ITEMS + 1


def test_what_is_kept_is_json_whatever_came() -> None:
    endless: dict[str, Any] = {}
    endless["self"] = endless
    for odd in (endless, {"x": {1, 2}}, {"x": b"y"}, {"x" * 100_000: object()}, {"x": float("nan")}):
        assert len(json.dumps(summarised(odd))) < 2000


def test_ordinary_arguments_stay_readable() -> None:
    arguments = {"path": "src/token.py", "limit": 5, "recursive": True, "expected_version": "sha256:ab", "cursor": None}
    assert summarised(arguments) == arguments
