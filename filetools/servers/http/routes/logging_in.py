"""Routes by which a browser becomes a person's: the page that takes the code, and the code for a cookie."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Header
from fastapi.responses import JSONResponse, Response
from pydantic import Field

from filetools.servers.http.described import failures
from filetools.servers.http.login_page import BODY, SCRIPT
from filetools.servers.http.logins import LOGIN_SECONDS
from filetools.servers.http.operations import Sent
from filetools.servers.http.page import page
from filetools.servers.http.problems import Refusal
from filetools.servers.http.security import cookie_name
from filetools.servers.http.shared import SharedParts

router: Final = APIRouter(include_in_schema=False)


class Code(Sent):
    """What the page sends."""

    code: str = Field(max_length=200)


@router.head("/login")
@router.get("/login")
async def login_page() -> Response:
    """Return the page."""
    return page("filetools: log in", BODY, SCRIPT)


@router.post("/login", responses=failures())
async def log_in(given: Code, shared: SharedParts, origin: Annotated[str | None, Header()] = None) -> Response:
    """Take a code, which is used up by that, and give the browser a cookie for it, and the page a key."""
    if origin is None:
        raise Refusal(403, "WRONG_ORIGIN", "Logging in needs the header Origin: the login counts for that origin alone")
    made = shared.logins.redeem(given.code, origin)
    if made is None:
        raise Refusal(403, "WRONG_CODE", "This code was used already, is too old, or is none")
    answer = JSONResponse({"next": shared.options.page, "key": made.key}, headers={"Cache-Control": "no-store"})
    answer.set_cookie(
        cookie_name(shared.options.port), made.secret,
        max_age=int(LOGIN_SECONDS), path="/", httponly=True, samesite="strict",
    )  # fmt: skip
    return answer
