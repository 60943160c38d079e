"""The reference of all routes for people: made of their OpenAPI description, without anything from elsewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any, Final

from fastapi.responses import Response

from filetools.servers.http.described import EVERYWHERE
from filetools.servers.http.page import page
from filetools.servers.http.problems import TITLES

_CODE: Final = re.compile(r"`([^`]+)`")


def reference_page(described: Mapping[str, Any]) -> Response:
    """Return the page.

    Args:
        described: The description in OpenAPI.
    """
    operations = ((path, *each) for path, item in described["paths"].items() for each in item.items())
    # HEAD is asked as GET is, and answered without the body.
    routes = [_route(path, method, operation) for path, method, operation in operations if method != "head"]
    schemas = [_schema(name, schema) for name, schema in sorted(described["components"]["schemas"].items())]
    body = f"""<h1>All routes</h1>
<p class="soft">{_text(described["info"]["description"])}</p>
<p>Beside these, <code>/mcp</code> speaks MCP, <code>/v1/live</code> is a WebSocket, and <code>/login</code> a page. Programs
read <a href="/openapi.json">OpenAPI</a>. Any route may refuse with {_refusals(EVERYWHERE)}.</p>
<h2>Routes</h2>
{"".join(routes)}
<h2>Objects</h2>
{"".join(schemas)}
<footer><a href="/">What is served here</a></footer>"""
    return page("All routes · filetools", body)


def _route(path: str, method: str, operation: Mapping[str, Any]) -> str:
    first, _, rest = operation["description"].partition("\n\n")
    rows = [_row(each["name"], each["schema"] | each, f"in {each['in']}") for each in operation.get("parameters", ())]
    sent, answers = operation.get("requestBody"), {int(key): each for key, each in operation["responses"].items()}
    body = "" if sent is None else f"<p>Body: {_content(sent)}. {_text(sent.get('description', ''))}</p>"
    good = "; ".join(f"{status} {_content(each)}" for status, each in answers.items() if status < 400)
    bad = [status for status in answers if status >= 400 and status not in EVERYWHERE]
    refused = f"<br>Refusals: {_refusals(bad)}" if bad else ""
    return f"""<details><summary><b>{method.upper()}</b><code>{escape(path)}</code><p class="soft">{_text(first)}</p></summary>
<div><p>{_text(rest)}</p><table>{"".join(rows)}</table>{body}<p>Answers: {good}{refused}</p></div></details>
"""


def _schema(name: str, schema: Mapping[str, Any]) -> str:
    needed = schema.get("required", ())
    fields = [_row(field, {"required": field in needed} | each) for field, each in schema.get("properties", {}).items()]
    return f"""<details><summary><code>{escape(name)}</code>
<p class="soft">{_text(schema.get("description", ""))}</p></summary>
<div id="{escape(name)}"><table>{"".join(fields)}</table></div></details>
"""


def _row(name: str, told: Mapping[str, Any], place: str = "") -> str:
    facts = "Required. " if told.get("required") else ""
    if told.get("default"):
        facts = f"Usually <code>{escape(json.dumps(told['default']))}</code>. "
    text = _text(told.get("description", ""))
    return f'<tr><td><code>{escape(name)}</code><td>{_type(told)}<td>{facts}{text} <span class="soft">{place}</span>'


def _refusals(statuses: Iterable[int]) -> str:
    return f"{_link('Problem')}: {', '.join(f'{status} {TITLES[status].lower()}' for status in statuses)}"


def _content(told: Mapping[str, Any]) -> str:
    parts = (f"<code>{escape(media)}</code> {_type(each['schema'])}" for media, each in told.get("content", {}).items())
    return " or ".join(parts) or _text(told["description"])


def _type(schema: Mapping[str, Any]) -> str:
    """Return in HTML of what kind a value is."""
    if "$ref" in schema:
        return _link(schema["$ref"].rpartition("/")[2])
    if several := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(map(_type, several))
    if fixed := schema.get("enum") or ([schema["const"]] if "const" in schema else None):
        return " or ".join(f"<code>{escape(json.dumps(each))}</code>" for each in fixed)
    if "items" in schema:
        return f"list of {_type(schema['items'])}"
    return escape(schema.get("format") or schema.get("type") or "anything")


def _link(name: str) -> str:
    return f'<a href="#{escape(name)}">{escape(name)}</a>'


def _text(plain: str) -> str:
    return _CODE.sub(r"<code>\1</code>", escape(plain)).replace("\n\n", "<br><br>")
