"""Whether this Lustre client holds its connections: the state of its imports, twice."""

import re

import msgspec

from collectors.facts.observation import Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

# Up to 2.12 or so the client keeps them in /proc, later in debugfs, which root alone reads.
PATTERNS = (
    "/proc/fs/lustre/mgc/*/import",
    "/proc/fs/lustre/mdc/*/import",
    "/proc/fs/lustre/osc/*/import",
    "/sys/kernel/debug/lustre/mgc/*/import",
    "/sys/kernel/debug/lustre/mdc/*/import",
    "/sys/kernel/debug/lustre/osc/*/import",
)
MOUNTS = "/proc/self/mounts"

# One field a line, each behind spaces:   "    state: DISCONN", "    target: scratch-OST0004_UUID"
FIELD = re.compile(r"\s{0,12}(?P<name>target|state|current_connection): {0,4}(?P<value>\S{1,120})")


class Import(msgspec.Struct, frozen=True, kw_only=True):
    """One connection to a target: its state at both samples, and the server that it is held to."""

    target: str
    state: str
    state_before: str
    server: str | None = None
    path: str


class LustreImports(Observation, frozen=True, kw_only=True):
    """The client's imports; `mounted` says whether a Lustre file system is mounted at all."""

    mounted: bool
    imports: tuple[Import, ...] = ()
    seconds: float = 0.0


async def collect(node: Node, wanted: Wanted) -> LustreImports | Missing:
    """Read the imports twice, `sample_s` apart: an idle one connects within that time."""
    before = await node.files(*PATTERNS, MOUNTS)
    if isinstance(before, Missing):
        return before
    mounted = any(line.split(" ")[2:3] == ["lustre"] for line in _lines(before.get(MOUNTS)))
    first = {path: parse(text) for path, text in before.texts.items() if path.endswith("/import")}
    if not first:
        return LustreImports(mounted=mounted)
    began = node.monotonic()
    await node.sleep(wanted.sample_s)
    after = await node.files(*PATTERNS)
    if isinstance(after, Missing):
        return after
    last = {path: parse(text) for path, text in after.texts.items()}
    imports = (_import(path, first[path], last[path]) for path in sorted(first) if path in last)
    return LustreImports(
        mounted=mounted,
        imports=tuple(one for one in imports if one is not None),
        seconds=round(node.monotonic() - began, 3),
    )


def _lines(text: str | None) -> list[str]:
    return (text or "").split("\n")


def parse(text: str) -> dict[str, str]:
    """Return target, state and current connection of one import."""
    found: dict[str, str] = {}
    for line in text.split("\n"):
        if hit := FIELD.match(line):
            found.setdefault(hit["name"], hit["value"])
    return found


def _import(path: str, first: dict[str, str], last: dict[str, str]) -> Import | None:
    if "state" not in last or "state" not in first:
        return None
    return Import(
        target=last.get("target", path.split("/")[-2]).removesuffix("_UUID"),
        state=last["state"],
        state_before=first["state"],
        server=last.get("current_connection"),
        path=path,
    )
