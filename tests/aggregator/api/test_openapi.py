"""The description of the API against the OpenAPI 3.1 structure, and against the server itself."""

import re
from typing import Any

from openapi_spec_validator import OpenAPIV31SpecValidator

from aggregator.api import openapi
from aggregator.api.routes import ROUTES
from tests.aggregator.conftest import Box

DOCUMENT = openapi.document("0.1.0")


def walk(value: Any) -> Any:
    """Yield every object of a document."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from walk(inner)
    if isinstance(value, list):
        for inner in value:
            yield from walk(inner)


async def test_served(box: Box) -> None:
    """The document is served without a credential."""
    status, served = await box.send("GET", "/openapi.json")
    assert (200, "3.1.0", set(DOCUMENT["paths"])) == (
        status,
        served["openapi"],
        set(served["paths"]),
    )


def test_valid() -> None:
    """The document is what OpenAPI 3.1 says a description is."""
    problems = [error.message for error in OpenAPIV31SpecValidator(DOCUMENT).iter_errors()]
    assert [] == problems


def test_references() -> None:
    """Every reference points at something in the document."""
    references = {one["$ref"] for one in walk(DOCUMENT) if isinstance(one.get("$ref"), str)}
    missing = []
    for reference in references:
        found: Any = DOCUMENT
        for key in reference.removeprefix("#/").split("/"):
            found = found.get(key, {})
        if not found:
            missing.append(reference)
    assert ([], True) == (missing, len(references) > 20)


def test_operations() -> None:
    """Each route is there with an id of its own, a summary, its path's names, and answers."""
    wrong, ids = [], []
    for route in ROUTES:
        operation = DOCUMENT["paths"][route.path][route.method.lower()]
        ids.append(operation["operationId"])
        names = [p["name"] for p in operation["parameters"] if p["in"] == "path"]
        right = operation["summary"] and names == re.findall(r"\{(\w+)\}", route.path)
        if not right or set(operation["responses"]) != {str(int(route.status)), "default"}:
            wrong.append(route.path)
    assert ([], len(ids)) == (wrong, len(set(ids)))


def test_report() -> None:
    """A report's schema is that of the wire, its parts not mixed up with those of answers."""
    report = DOCUMENT["components"]["schemas"]["Report"]
    parts = report["properties"]["parts"]["items"]
    assert ({"$ref": "#/components/schemas/ReportedPart"}, True) == (
        parts,
        {"node", "boot_id", "sequence"} <= set(report["required"]),
    )
