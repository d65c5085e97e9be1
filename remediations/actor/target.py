"""What a cap is set on: a GPU by the driver, or the node by its BMC."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol


class Reading(NamedTuple):
    """The limit in force, what it is where nobody limits, and the least that can be set."""

    limit: int
    default: int
    least: int


class Gone(Exception):  # noqa: N818 - reads as a sentence where it is raised
    """It is not there any more, and its limit went with it."""


class Target(Protocol):
    """One limit, in whole numbers of `unit`; what cannot be read or set is Refused with a why.

    `found` is what else was set there when it was read first, to be kept with the cap.
    """

    unit: str
    found: Mapping[str, str]

    def read(self) -> Reading:
        """Return what holds now."""
        ...

    def put(self, limit: int) -> int:
        """Set the limit; return what is in force then."""
        ...

    def restore(self, before: int) -> None:
        """Put back what was before."""
        ...


def another(watts: int) -> str:
    """Return the sentence about a node's limit that is not ours."""
    return f"another's limit of {watts} W is in force, and is left as it is"
