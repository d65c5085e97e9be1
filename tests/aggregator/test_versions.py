"""Two successive minor versions talk both ways: what each release said is still understood."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agent.daemon.enrolment import Given
from agent.outbox import sender
from aggregator.wire import Receipt, Report
from tests.aggregator.conftest import Box

RELEASES = sorted(path for path in (Path(__file__).parent / "recorded").iterdir() if path.is_dir())
NODE = "gpu-041"
# Names of values, not of fields: what a later version adds there has the same type.
OPEN = ("gauges", "stages_s", "versions")

releases = pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)


def reports(release: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (release / "reports.ndjson").read_text().splitlines()]


def answers(release: Path) -> dict[str, dict[str, Any]]:
    said: dict[str, dict[str, Any]] = json.loads((release / "answers.json").read_text())
    return said


def later(value: Any) -> Any:
    """Return what the next minor version may say: the same, and in every object a field more."""
    if isinstance(value, list):
        return [later(one) for one in value]
    if not isinstance(value, dict):
        return value
    grown = {key: one if key in OPEN else later(one) for key, one in value.items()}
    return {**grown, "later": {"unit": "mm", "values": [1, None]}}


async def post(box: Box, said: list[dict[str, Any]], **more: Any) -> tuple[int, Any]:
    credential = await box.credential("node", NODE)
    lines = b"".join(msgspec.json.encode({**one, **more}) + b"\n" for one in said)
    return await box.send("POST", "/v1/reports", credential, data=lines)


async def seen(box: Box) -> tuple[Any, ...]:
    """Return what the aggregator says of the node."""
    viewer = await box.credential("viewer")
    node = (await box.send("GET", f"/v1/nodes/{NODE}", viewer))[1]
    faults = sorted({finding["fault"] for finding in node["findings"]})
    serials = sorted(part["serial"] for part in node["parts"])
    return node["product"], node["verdict"], faults, serials, node["versions"], node["dropped"]


def told(release: Path) -> tuple[Any, ...]:
    """Return what the node itself says, when all of its reports are taken."""
    said = reports(release)
    whole = next(one for one in said if one["kind"] == "snapshot")
    cleared = {name for one in said for name in one.get("cleared", ())}
    found = [f for f in whole["diagnosis"]["findings"] if f["fingerprint"] not in cleared]
    faults = sorted({finding["fault"] for finding in found})
    serials = sorted(part["serial"] for part in whole["parts"])
    dropped = sum(one.get("dropped", 0) for one in said)
    return said[-1]["product"], said[-1]["verdict"], faults, serials, whole["versions"], dropped


@releases
def test_every_field_of_a_release_is_still_read(release: Path) -> None:
    """Read and written again, a report of each release is what it was: no field is forgotten."""
    said = reports(release)
    again = [msgspec.json.decode(msgspec.json.encode(one), type=Report) for one in said]

    assert said == [json.loads(msgspec.json.encode(one)) for one in again]


@releases
async def test_the_aggregator_takes_an_older_agent(box: Box, release: Path) -> None:
    """What each release's agent sends is taken, and shows as that agent meant it."""
    said = reports(release)
    taken = await post(box, said)

    assert ((200, {"accepted": len(said)}), told(release)) == (taken, await seen(box))


@releases
async def test_the_aggregator_takes_a_newer_agent(box: Box, release: Path) -> None:
    """Fields that a later version adds at any depth change nothing of what is understood."""
    said = [later(one) for one in reports(release)]
    taken = await post(box, said)

    assert ((200, {"accepted": len(said)}), told(release)) == (taken, await seen(box))


@releases
async def test_a_node_is_upgraded_and_taken_back(box: Box, release: Path) -> None:
    """Within one boot: old, new, the aggregator started anew, old again; each report counts once.

    What was sent before an upgrade and comes again after it is known.
    """
    old = reports(release)
    new = [{**later(one), "sequence": one["sequence"] + 100, "product": "later"} for one in old]
    back = [{**one, "sequence": one["sequence"] + 200} for one in old]
    taken = [(await post(box, old))[1], (await post(box, [*old, *new]))[1]]
    between = (await seen(box))[0]
    await box.restart()
    taken += [(await post(box, [*new, *back]))[1]]
    viewer = await box.credential("viewer")
    history = (await box.send("GET", f"/v1/nodes/{NODE}/history", viewer))[1]["items"]
    kept = [one for one in old if one["kind"] != "heartbeat"]

    assert (
        {"accepted": len(old)},
        {"accepted": len(old), "duplicates": len(old)},
        {"accepted": len(old), "duplicates": len(old)},
        "later",
        old[0]["product"],
        3 * len(kept),
    ) == (*taken, between, (await seen(box))[0], len(history))


@releases
@pytest.mark.parametrize("grown", [False, True], ids=["as it was", "with more fields"])
def test_the_agent_understands_an_older_and_a_newer_aggregator(
    release: Path,
    grown: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """Receipts, refusals and credentials of each release, and of one that says more, are read."""
    said = {key: later(one) if grown else one for key, one in answers(release).items()}
    if grown:
        # Its keys are numbers of lines, its values reasons: nothing can be added there.
        said["receipt"]["rejected"] = answers(release)["receipt"]["rejected"]
        said["refusal"]["rejected"] = answers(release)["refusal"]["rejected"]
    text = {key: json.dumps(one).encode() for key, one in said.items()}
    receipt = sender._receipt(text["receipt"], 5)
    short = sender._receipt(text["receipt, short"], 5)
    refusal = sender._refusal(text["refusal"])
    given = msgspec.json.decode(text["credential"], type=Given)

    assert (
        ("accepted", 1, True),
        ("accepted", 0, False),
        {"0": "sequence: Expected `int`, got `str`"},
        ("gpudiag-example", dt.datetime(2026, 12, 15, 9, 10, tzinfo=dt.UTC)),
    ) == (
        (receipt.result, receipt.rejected, receipt.paused),
        (short.result, short.rejected, short.paused),
        refusal.rejected,
        (given.credential, given.rotate_after),
    )


@releases
async def test_an_older_agent_is_told_of_no_peers(box: Box, release: Path) -> None:
    """Who asks for no peers gets the receipt of before; an older receipt tells of no servers."""
    receipt = (await post(box, reports(release)))[1]
    read = sender._receipt(json.dumps(answers(release)["receipt"]).encode(), 5)

    assert read.receipt is not None
    asked = {"serving", "worked", "jobs"}
    assert (set(), {}, {}, {}) == (
        asked & set(receipt),
        read.receipt.serving,
        read.receipt.worked,
        read.receipt.jobs,
    )


@releases
def test_every_field_of_a_receipt_is_still_written(release: Path) -> None:
    """What an older agent looks for in a receipt has its name still."""
    said = answers(release)["receipt"]
    receipt = Receipt(accepted=3, duplicates=1, rejected={2: "sent: not a time"}, paused=True)

    assert said == json.loads(msgspec.json.encode(receipt))
