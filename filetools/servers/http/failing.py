"""Answers to requests that fail: whatever went wrong is a problem with a code."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.routing import Route

from filetools.errors import FileToolsError, InternalError
from filetools.servers.http.problems import Problem, Refusal, problem_of, told_faults
from filetools.servers.http.routes import ROUTERS, chat

_CODES = {404: "NO_SUCH_ROUTE", 405: "METHOD_NOT_ALLOWED"}


def answer_failures(application: FastAPI) -> None:
    """Have an application answer failures with problems."""
    application.add_exception_handler(FileToolsError, _failed)
    application.add_exception_handler(Refusal, _refused)
    application.add_exception_handler(RequestValidationError, _invalid)
    application.add_exception_handler(HTTPException, _unrouted)
    application.add_exception_handler(Exception, _broken)


async def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, FileToolsError)
    return problem_of(error).response()


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return error.problem.response()


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return Problem(422, "INVALID_ARGUMENT", told_faults(error.errors())).response()


async def _unrouted(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(_methods(request.scope["path"]))
    code = _CODES.get(error.status_code, "INVALID_ARGUMENT")
    return Problem(error.status_code, code, str(error.detail), headers).response()


async def _broken(request: Request, error: Exception) -> Response:
    return problem_of(InternalError("The request failed unexpectedly; the log of the server says why")).response()


def _methods(path: str) -> list[str]:
    """What a path can be asked for; the framework tells only of the first of its routes."""
    routes = (route for router in (*ROUTERS, chat.router) for route in router.routes if isinstance(route, Route))
    fitting = (route for route in routes if route.path_regex.match(path))
    return sorted({method for route in fitting for method in route.methods or ()})
