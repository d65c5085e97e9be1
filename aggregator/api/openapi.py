"""The OpenAPI 3.1 document, made from the table of routes and the models of its documents."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from aggregator import wire
from aggregator.api import documents
from aggregator.api.problem import MEDIA_TYPE
from aggregator.api.routes import ROUTES, Route

REF = "#/components/schemas/{model}"
WIRE_REF = "#/components/schemas/{name}"
REPORTS = "/v1/reports"


def document(version: str) -> dict[str, Any]:
    """Return the whole document."""
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "gpudiag aggregator", "version": version},
        "security": [{"credential": []}],
        "paths": paths,
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {"credential": {"type": "http", "scheme": "bearer"}},
            "responses": {
                "Problem": {
                    "description": "Refused, with the reason",
                    "content": {MEDIA_TYPE: {"schema": {"$ref": REF.format(model="Problem")}}},
                }
            },
        },
    }


def _operation(route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": re.sub(r"\W+", "_", f"{route.method} {route.path}").strip("_").lower(),
        "summary": route.does,
        "description": f"For {', '.join(sorted(route.who))}.",
        "parameters": [*_in_path(route), *_in_query(route)],
        "responses": {
            str(int(route.status)): _answer(route),
            "default": {"$ref": "#/components/responses/Problem"},
        },
    }
    if route.path == REPORTS:
        operation["requestBody"] = _ndjson()
    elif route.takes is not None:
        operation["requestBody"] = {"required": True, "content": _json(route.takes)}
    return operation


def _ndjson() -> dict[str, Any]:
    """Describe the one body that is lines: each is a Report."""
    return {
        "required": True,
        "description": "One report a line, the whole as it is, gzip or zstd.",
        "content": {wire.MEDIA_TYPE: {"schema": {"$ref": REF.format(model="Report")}}},
    }


def _answer(route: Route) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": route.status.phrase}
    if route.answers is not None:
        answer["content"] = _json(route.answers)
    return answer


def _json(model: type[BaseModel]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": REF.format(model=model.__name__)}}}


def _in_path(route: Route) -> Iterator[dict[str, Any]]:
    for name in re.findall(r"\{(\w+)\}", route.path):
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _in_query(route: Route) -> Iterator[dict[str, Any]]:
    if route.asks is not None:
        properties: dict[str, Any] = route.asks.model_json_schema()["properties"]
        for name, schema in properties.items():
            yield {"name": name, "in": "query", "required": False, "schema": schema}


def _schemas() -> dict[str, Any]:
    """Return the schemas of all documents, and of a report from its struct."""
    answered = {route.answers for route in ROUTES if route.answers} | {documents.Problem}
    taken = {route.takes for route in ROUTES if route.takes}
    by_name = sorted(answered, key=lambda m: m.__name__), sorted(taken, key=lambda m: m.__name__)
    _, made = models_json_schema(
        [*((m, "serialization") for m in by_name[0]), *((m, "validation") for m in by_name[1])],
        ref_template=REF,
    )
    _, parts = msgspec.json.schema_components([wire.Report], ref_template=WIRE_REF)
    both = made["$defs"] | {"ReportedPart": parts.pop("Part")}
    report: dict[str, Any] = msgspec.json.decode(
        msgspec.json.encode(parts).replace(b"/schemas/Part", b"/schemas/ReportedPart")
    )
    return {**both, **report}
