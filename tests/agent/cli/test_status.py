"""`gpudiag status`: the page of what the daemon says, and the exit status that goes with it."""

from typing import Any

import msgspec
import pytest

from agent.cli.status import status
from agent.daemon import answers
from agent.daemon.gpus import GpuRow
from agent.daemon.peer import Peer
from agent.render.lines import plain
from agent.render.status import draw
from collectors.gpu.caps import Cap, Ended, HandedOver, PowerCaps
from diagnostics.document import plain as as_json
from tests.agent.daemon.documents import finding, walked
from tests.agent.daemon.fake import Fake

GIB = 1 << 30
ROW = GpuRow(
    index=3,
    pci="0000:4e:00.0",
    used_bytes=70 * GIB,
    total_bytes=80 * GIB,
    utilisation_percent=99,
    temperature_c=64,
    margin_c=23,
    jobs=("88123",),
    uids=(1000,),
)


def answer(one: Fake, **about: Any) -> dict[str, Any]:
    """Return what travels over the socket."""
    got = answers.status(one, Peer(uid=0, trusted=True))
    changed = msgspec.structs.replace(got.agent, **about)
    said: dict[str, Any] = as_json(msgspec.structs.replace(got, agent=changed))
    return said


def page(said: dict[str, Any], width: int = 100) -> str:
    return plain(draw(said, width=width, ascii_only=True))


def test_before_the_first_walk_nothing_is_claimed() -> None:
    """Status 3, and no word that the node is well or ill."""
    said = answer(Fake())
    drawn = page(said)

    assert (3, True, False) == (status(said), "no walk was finished yet" in drawn, "well" in drawn)


@pytest.mark.parametrize(("age_s", "code"), [(3.0, 2), (119.0, 2), (121.0, 3)])
def test_what_is_too_old_is_unknown(age_s: float, code: int) -> None:
    """A walk that ended over two periods and a minute ago says nothing of now."""
    assert code == status(answer(Fake(walked(finding()), age_s=age_s)))


def test_the_page_of_a_sick_node() -> None:
    """Age at the right of the first line; GPUs with job and user; the daemon's own state below."""
    said = answer(
        Fake(walked(finding()), age_s=16.0, rows=(ROW,)),
        ended_before="it was killed",
        problems=("settings not taken over",),
    )
    lines = page(said).splitlines()
    gpus = lines.index("GPUs")
    daemon = lines.index("Daemon")

    assert (
        True,
        [
            "     #  address       job    user      margin          memory  busy  temp",
            "  X  3  0000:4e:00.0  88123  uid 1000    23 C  70.0 of 80 GiB  99 %  64 C",
        ],
        [
            "  + agent         0.1.0, up 2 min, 28 MiB, 0.12 % of a core, mode observe",
            "  + walks         every 30 s; the last took 0.4 s",
            "  - aggregator    none is set: what is seen stays on this node",
            "  + helpers       2 running, 0 left behind",
            "  ! last run      it was killed",
            "  ! problem       settings not taken over",
        ],
    ) == (
        "X gpu-017 has a fault: message of f1." in lines[0] and "as seen 16 s ago," in lines[0],
        lines[gpus + 1 : gpus + 3],
        lines[daemon + 1 :],
    )


def test_each_stage_says_how_long_ago_it_was_looked_at() -> None:
    """At the right of a stage stands the age of its oldest look, not how long the walk took."""
    walk = msgspec.structs.replace(walked(finding()), stages_s={"driver": 4.0})
    lines = page(answer(Fake(walk, age_s=16.0))).splitlines()

    assert [True] == [line.endswith(" 20 s ago") for line in lines if " driver " in line]


def test_live_the_gpus_stand_on_top() -> None:
    """Who watches has the GPUs below the verdict; without --watch the cause comes first."""
    said = answer(Fake(walked(finding()), rows=(ROW,)))
    heads = [
        plain(draw(said, width=100, ascii_only=True, live=live)).splitlines()
        for live in (True, False)
    ]

    assert [True, False] == [lines.index("GPUs") < lines.index("Stages") for lines in heads]


def test_in_a_narrow_window_the_owner_and_the_margin_stay() -> None:
    """At 60 cells power, temperature and use are left out; foreign names are bounded, and safe."""
    row = msgspec.structs.replace(ROW, jobs=("a\x1b[31m" + "b" * 90,))
    lines = page(answer(Fake(walked(finding()), rows=(row,))), 60).splitlines()
    head = lines[lines.index("GPUs") + 1]

    assert ("     #  address       job                       margin", [], True) == (
        head,
        [line for line in lines if len(line) > 60 or "\x1b" in line],
        "a\\x1b[31mbbbbbbbbbbbb..." in lines[lines.index("GPUs") + 2],
    )


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """The page fits, from 60 cells on, whatever the aggregator's trouble is called."""
    report = {
        "url": "https://agg-1.cluster.example:9837",
        "acknowledged_s": None,
        "problem": "https://agg-1.cluster.example:9837/v1/reports: no answer in time",
        "bytes": 5 << 20,
        "most_bytes": 256 << 20,
        "lost": 7,
    }
    said = answer(Fake(walked(finding()), rows=(ROW,)), report=report)

    assert [] == [line for line in page(said, width).splitlines() if len(line) > width]


def capped(subject: str, limit: int, since: float) -> Cap:
    """Return a cap on 700 W."""
    return Cap(subject=subject, limit=limit, before=700_000, since=since, why=f"{subject} is hot")


HOT = PowerCaps(
    held=(capped("0000:4e:00.0", 630_000, 400.0), capped("0000:5d:00.0", 560_000, 100.0)),
    handed_over=(
        HandedOver(subject="dcmi", phase="blind", why="nobody tells a temperature", since=960.0),
    ),
    now=990.0,
)


@pytest.mark.parametrize("live", [True, False])
def test_what_is_held_because_of_heat(*, live: bool) -> None:
    """One line says what is held, since when and why, and one what a person is called for."""
    said = answer(Fake(walked(finding()), rows=(ROW,), kept={"PowerCaps": (HOT, 10.0)}))
    lines = plain(draw(said, width=140, ascii_only=True, live=live)).splitlines()
    told = [line for line in lines if "heat" in line]

    expected = [
        "  -  heat  GPU 0000:5d:00.0 and 1 more at 560 W of 700 W for 15 min: 0000:5d:00.0 is hot",
        "  !  heat  a person is needed for the node by DCMI for 40 s: nobody tells a temperature",
    ]
    assert expected == told


def test_without_heat_there_is_no_line() -> None:
    """What ended is no news of now; an agent that knows no caps says nothing of them."""
    ended = Ended(subject="dcmi", how="restored to 1850 W", because="it is cool", at=1.0)
    said = [answer(Fake(walked(), kept={"PowerCaps": (PowerCaps(ended=(ended,)), 1.0)}))]
    said.append({key: value for key, value in said[0].items() if key != "caps"})

    assert [False, False] == ["heat" in page(one) for one in said]


def test_one_cap_is_named_alone() -> None:
    """Without others no number of them is told, and a new one counts in seconds."""
    one = msgspec.structs.replace(HOT, held=HOT.held[:1], handed_over=(), now=405.0)
    drawn = page(answer(Fake(walked(), kept={"PowerCaps": (one, 0.0)})))

    assert "GPU 0000:4e:00.0 at 630 W of 700 W for 5 s: 0000:4e:00.0 is hot" in drawn
