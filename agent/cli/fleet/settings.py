"""fleet.toml as people write it."""

from typing import Annotated, Any

from pydantic import Field, ValidationError

from agent.cli.errors import Mistake
from agent.settings.model import Table

File = Annotated[str, Field(pattern=r"^/[^\x00-\x1f]*$")]


class Fleet(Table):
    """The aggregator and where one's credential lies; paths are absolute."""

    aggregator: str = Field(
        default="http://127.0.0.1:9837", pattern=r"^https?://[^\s/?#@]+(/[^\s?#]*)?$"
    )
    token_file: str | None = None
    ca: str | None = None
    certificate: File | None = None
    key: File | None = None


def read(table: dict[str, Any], where: str) -> Fleet:
    """Return the settings, or say in one line which key is wrong."""
    try:
        return Fleet.model_validate(table)
    except ValidationError as problem:
        first = problem.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        what = "unknown key" if first["type"] == "extra_forbidden" else first["msg"]
        hint = "an address is like https://agg-1:9837" if key == "aggregator" else "correct the key"
        raise Mistake(f"{where}: {key}: {what}", hint) from None
