"""The node's power limit over Redfish, at a BMC of our own that can misbehave."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.helpers.children.loop import Refused
from remediations.actor import caps, redfish
from remediations.actor.redfish import Redfish
from remediations.actor.registry import Kept
from remediations.actor.target import Reading
from remediations.policy import parse
from tests.remediations.actor.redfish_bmc import RedfishBmc

pytestmark = pytest.mark.root


@pytest.fixture(name="bmc")
def _bmc() -> Iterator[RedfishBmc]:
    """Run a BMC."""
    with RedfishBmc() as running:
        yield running


def no(bmc: RedfishBmc, folder: Path, base: int | None = 5000) -> str:
    """Ask for a limit that does not come about; return why."""
    with pytest.raises(Refused) as refused:
        Redfish(bmc.way(folder), base).put(4500)
    return refused.value.detail


def test_a_limit(bmc: RedfishBmc, tmp_path: Path) -> None:
    """A limit carries the ETag that was read, never switches off, and leaves other controls be."""
    limit = Redfish(bmc.way(tmp_path), None)
    readings = [limit.read(), limit.put(4500), Redfish(bmc.way(tmp_path), 5000).read()]
    control = {"PowerLimit": {"LimitInWatts": 4500, "LimitException": "NoAction"}}

    assert [Reading(5000, 5000, 0), 4500, Reading(4500, 5000, 0)] == readings
    assert [('W/"1"', {"PowerControl": [control, {}]})] == bmc.patched


def test_taken_away(bmc: RedfishBmc, tmp_path: Path) -> None:
    """What was before is no limit, and is put back as that."""
    limit = Redfish(bmc.way(tmp_path), 5000)
    limit.put(4500)
    limit.restore(5000)

    assert (None, 5000) == (bmc.limit, limit.read().limit)


def test_anothers_limit(bmc: RedfishBmc, tmp_path: Path) -> None:
    """A limit that stands already is another's."""
    bmc.limit = 4000
    with pytest.raises(Refused) as refused:
        Redfish(bmc.way(tmp_path), None).read()

    said = "another's limit of 4000 W is in force, and is left as it is"
    assert (said, []) == (refused.value.detail, bmc.patched)


@pytest.mark.parametrize(
    ("method", "fault", "why"),
    [
        ("PATCH", "400", "the BMC answers PATCH with 400: The service refuses[31m this."),
        ("PATCH", "403", "the BMC answers PATCH with 403: The service refuses[31m this."),
        ("PATCH", "412", "another changed the BMC's power settings at the same time"),
        ("PATCH", "between", "another changed the BMC's power settings at the same time"),
        ("GET", "503", "the BMC answers GET with 503: The service refuses[31m this."),
        ("GET", "torn", "the BMC's answer is no Power resource of Redfish"),
        ("GET", "moved", "the BMC answers GET with 302"),
        ("PATCH", "deaf", "the BMC made None W with LogEventOnly of 4500 W: taken back"),
        ("PATCH", "hard", "the BMC made 4500 W with HardPowerOff of 4500 W: taken back"),
    ],
)
def test_misbehaviour(
    bmc: RedfishBmc, tmp_path: Path, *, method: str, fault: str, why: str
) -> None:
    """Each way in which it goes wrong is one line, and leaves no limit behind."""
    bmc.faults[method] = fault

    assert (why, None) == (no(bmc, tmp_path), bmc.limit)


@pytest.mark.parametrize("fault", ["slow", "cut"])
@pytest.mark.parametrize("method", ["GET", "PATCH"])
def test_no_whole_answer(
    bmc: RedfishBmc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, method: str, fault: str
) -> None:
    """An answer that drips for ever, or is cut off, ends at the deadline."""
    monkeypatch.setattr(redfish, "ASK_S", 0.5)
    bmc.faults[method] = fault
    began = time.monotonic()
    said = no(bmc, tmp_path)

    assert said.startswith(f"the BMC at 127.0.0.1:{bmc.port}: ")
    assert time.monotonic() - began < 5.0


def test_wrong_credentials(bmc: RedfishBmc, tmp_path: Path) -> None:
    """A BMC that does not know us is told in its own words."""
    way = bmc.way(tmp_path)
    Path(way["credentials"]).write_text("somebody:else\n")
    with pytest.raises(Refused) as refused:
        Redfish(way, None).read()

    assert "the BMC answers GET with 401: who are you?" == refused.value.detail


@pytest.mark.parametrize(
    ("mode", "text", "why"),
    [(0o644, "a:b", "is refused: chown root"), (0o600, "ab", "must hold USER:PASSWORD")],
)
def test_credentials_that_others_can_read(
    bmc: RedfishBmc, tmp_path: Path, mode: int, text: str, why: str
) -> None:
    """A file that others can read, or that holds no credentials, is not used."""
    way = bmc.way(tmp_path)
    Path(way["credentials"]).write_text(text)
    Path(way["credentials"]).chmod(mode)
    with pytest.raises(Refused, match=why):
        Redfish(way, None).read()


@pytest.mark.parametrize("url", ["http://192.0.2.1/x", "ftp://127.0.0.1/x", "", "http://bmc/x"])
def test_credentials_go_nowhere_else(tmp_path: Path, url: str) -> None:
    """In clear they go to this node's own BMC alone."""
    way = RedfishBmc().way(tmp_path) | {"url": url}
    with pytest.raises(Refused, match="is neither https nor this node's own BMC"):
        Redfish(way, None).read()


@given(
    st.binary(max_size=300)
    | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(str).map(str.encode)
)
def test_whatever_it_says(body: bytes) -> None:
    """No answer raises anything but a refusal."""
    try:
        cause = redfish.power(body, None) and "garbled"
    except Refused as refused:
        cause = refused.cause

    assert "garbled" == cause


ALLOWED = """allow_unproved = ["gpu.power_cap"]
[mode]
"gpu.power_cap" = "act"
[heat]
redfish = true
redfish_url = "{url}"
redfish_credentials = "{credentials}"
"""


def test_lifted_by_the_way_it_was_set(
    bmc: RedfishBmc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cap by Redfish is lifted by Redfish, though the site's file is gone by then."""
    monkeypatch.delenv("RUNTIME_DIRECTORY", raising=False)
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    policy = parse(ALLOWED.format(**bmc.way(tmp_path)))
    caps.cap_node(Kept(state, policy), 1, "the air that comes in is too warm")
    limits = [bmc.limit]
    caps.caps_tick(state, parse(""))
    limits.append(bmc.limit)

    assert ([4500, None], []) == (limits, caps.caps(state)["held"])


@pytest.mark.parametrize("method", ["GET", "PATCH"])
def test_tried_again_until_the_bmc_answers(
    bmc: RedfishBmc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """A BMC that does not let go keeps the cap in the actor's mind, and is asked again later."""
    monkeypatch.delenv("RUNTIME_DIRECTORY", raising=False)
    monkeypatch.setattr(caps, "AGAIN_S", 0.0)
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    policy = parse(ALLOWED.format(**bmc.way(tmp_path)))
    caps.cap_node(Kept(state, policy), 1, "the air that comes in is too warm")
    bmc.faults[method] = "503"
    caps.lift(state, None, "a test")
    still = [one["subject"] for one in caps.caps(state)["held"]]
    bmc.faults.clear()
    caps.caps_tick(state, policy)

    assert (["redfish"], None, []) == (still, bmc.limit, caps.caps(state)["held"])
