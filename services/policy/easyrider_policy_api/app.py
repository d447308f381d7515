"""The application: routes under /v1, every error told the same way, and the document that describes it all."""

import re
from typing import Any

import pydantic.json_schema
from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from easyrider import __version__, log
from easyrider_policy_api.house import House, needs
from easyrider_policy_api.problems import MEDIA_TYPE, Problem, not_valid
from easyrider_policy_api.routes import (
    accuracy,
    advice,
    audit,
    estimate,
    explain,
    fingerprints,
    health,
    holds,
    jobs,
    live,
    modes,
    targets,
    tokens,
    tree,
    tree_schema,
    trust,
)
from easyrider_policy_api.routes.told import READS, ProblemTold, problems
from easyrider_policy_api.wrong_fields import wrong_fields

_LOG = log.get("policy-api")
_ABOUT = """Edits the rules of a site, presses its red button, and answers why a job is capped.

Every route but `/v1/health` wants a bearer token. Rules have a version, told as `ETag`; edits name it in `If-Match`,
so that nobody overwrites what they have not seen. Every error is an RFC 9457 problem with the fields at fault. Every
change, done or refused, is audited. Watts are W, times s; what is not known is null, never zero."""
_ASKED = (
    modes.ModeAsked,
    targets.TargetAsked,
    holds.HoldAsked,
    holds.ReleaseAsked,
    tokens.TokenAsked,
    estimate.EstimateAsked,
    ProblemTold,
)


def build(house: House | None) -> FastAPI:
    """The application of a house; without one, to be described only."""
    app = FastAPI(
        title="EasyRider admin API", version=__version__, docs_url=None, redoc_url=None, openapi_url=None
    )
    app.state.house = house
    v1 = APIRouter(prefix="/v1")
    for part in (
        tree,
        modes,
        trust,
        targets,
        holds,
        live,
        jobs,
        estimate,
        fingerprints,
        accuracy,
        explain,
        advice,
        audit,
        tokens,
        health,
    ):
        v1.include_router(part.router)

    @v1.get(
        "/openapi.json", tags=["health"], responses=problems(*READS), dependencies=[Depends(needs("viewer"))]
    )
    async def read_openapi(request: Request) -> dict[str, Any]:
        """This description."""
        document: dict[str, Any] = request.app.openapi()
        return document

    app.include_router(v1)
    app.exception_handler(Problem)(_on_problem)
    app.exception_handler(RequestValidationError)(_on_invalid)
    app.exception_handler(HTTPException)(_on_http)
    app.exception_handler(Exception)(_on_fault)
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]
    return app


async def _on_problem(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, Problem)
    request.state.change.why = problem.detail
    return JSONResponse(
        problem.document, status_code=problem.status, headers=problem.headers, media_type=MEDIA_TYPE
    )


async def _on_invalid(request: Request, fault: Exception) -> Response:
    assert isinstance(fault, RequestValidationError)
    return await _on_problem(request, not_valid(wrong_fields(fault.errors())))


async def _on_http(request: Request, fault: Exception) -> Response:
    assert isinstance(fault, HTTPException)
    headers = dict(fault.headers or {})
    match fault.status_code:
        case 404:
            problem = Problem(404, "no-route", "There is nothing at this address.")
        case 405:
            headers["Allow"] = ", ".join(_methods(request))
            problem = Problem(405, "no-method", f"{request.method} is not asked here.", headers=headers)
        case status:
            problem = Problem(status, "refused", str(fault.detail), headers=headers)
    return await _on_problem(request, problem)


def _methods(request: Request) -> list[str]:
    """Of every route at this address: the framework tells those of the first alone."""
    path: str = request.url.path
    found: set[str] = set()
    for template, item in request.app.openapi()["paths"].items():
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path):
            found |= {method.upper() for method in item}
    return sorted(found)


async def _on_fault(request: Request, fault: Exception) -> Response:
    _LOG.error("a request failed", path=request.url.path, exc_info=fault)
    problem = Problem(
        500, "failed", "This request failed inside; limits in force stay as they are. The log says why."
    )
    return await _on_problem(request, problem)


def _described(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=_ABOUT, routes=app.routes)
        schemas = document["components"]["schemas"]
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        _refs, found = pydantic.json_schema.models_json_schema(
            [(kind, "validation") for kind in _ASKED], ref_template="#/components/schemas/{model}"
        )
        schemas.update(found["$defs"])
        schemas.update(tree_schema.COMPONENTS)
        document["components"]["schemas"] = dict(sorted(schemas.items()))
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        for path, item in document["paths"].items():
            for route in item.values():
                route["security"] = [] if path == "/v1/health" else [{"token": []}]
                told = route["responses"].get("422", {}).get("content", {})
                if "application/json" in told:  # the framework's own form, which we never answer in
                    route["responses"]["422"] = problems(422)[422]
        app.openapi_schema = document
    return app.openapi_schema
