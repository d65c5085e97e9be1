"""What the socket answers, by who asks."""

from typing import Any

import pytest

from agent.daemon.answers import Refused, answer
from agent.daemon.gpus import GpuRow
from agent.daemon.peer import Peer
from agent.daemon.view import Owners
from collectors.host.memory import HostMemory
from diagnostics.incidents.life import Life
from remediations.plan.situation import Acting
from tests.agent.daemon.documents import document, finding, incident, walked
from tests.agent.daemon.fake import Fake

ROOT, USER = Peer(uid=0, trusted=True), Peer(uid=1000, trusted=False)
NAMED = ("gpu_lost",)


async def hook(found: dict[str, Any], *, age_s: float = 3.0, seen_s: float = 5.0) -> list[Any]:
    one = Fake(walked(found, age_s=seen_s), age_s=age_s, drain=NAMED)
    reply = await answer(one, USER, {"ask": "hook"})
    reasons: list[Any] = reply["drain"]
    return [reason["fault"] for reason in reasons]


async def test_a_named_fault_that_is_critical_and_fresh_drains() -> None:
    """All of it together is reason enough."""
    assert ["gpu_lost"] == await hook(finding())


@pytest.mark.parametrize(
    ("changed", "times"),
    [
        pytest.param({"fault": "ecc_dbe"}, {}, id="not named"),
        pytest.param({"severity": "warning"}, {}, id="not critical"),
        pytest.param({"severity": "info"}, {}, id="over"),
        pytest.param({"stage": "training"}, {}, id="a user can write it"),
        pytest.param({}, {"age_s": 61.0}, id="the walk is old"),
        pytest.param({}, {"age_s": 20.0, "seen_s": 45.0}, id="what it saw is old"),
    ],
)
async def test_without_any_of_it_the_node_stays(
    changed: dict[str, Any], times: dict[str, float]
) -> None:
    """A fault that is not named, not critical, a user's own text, or old drains nothing."""
    assert [] == await hook({**finding(), **changed}, **times)


async def test_before_the_first_walk_nothing_is_known() -> None:
    """A daemon that just started has no verdict: unknown drains nothing."""
    reply = await answer(Fake(drain=NAMED), USER, {"ask": "hook"})

    assert {"verdict": None, "age_s": None, "drain": []} == reply


async def test_status_shows_a_user_his_own_and_root_all() -> None:
    """One daemon, two callers: the stranger's job is in root's answer alone."""
    known = Owners(jobs={"88124": 2000})
    rows = (GpuRow(index=0, jobs=("88124",), uids=(2000,)), GpuRow(index=1, uids=(1000,)))
    one = Fake(walked(finding(1), finding(2, job="88124")), rows=rows, known=known)

    seen = [await answer(one, peer, {"ask": "status"}) for peer in (ROOT, USER)]

    assert [
        (["f1", "f2"], [("88124",), ()], [(2000,), (1000,)]),
        (["f1"], [(), ()], [(), (1000,)]),
    ] == [
        (
            [f["id"] for f in status.diagnosis["findings"]],
            [row.jobs for row in status.gpus],
            [row.uids for row in status.gpus],
        )
        for status in seen
    ]


@pytest.mark.parametrize(
    ("peer", "question", "why"),
    [
        (USER, {"ask": "release-gpus", "seconds": 60}, "only root and the group gpudiag may have"),
        (USER, {"ask": "observations", "names": []}, "only root and the group gpudiag may take"),
        (ROOT, {"ask": "release-gpus", "seconds": "60"}, "seconds must be a number"),
        (ROOT, {"ask": "release-gpus", "seconds": True}, "seconds must be a number"),
        (ROOT, {"ask": "release-gpus", "seconds": 86_401}, "for at most 24 h"),
        (ROOT, {"ask": "release-gpus", "seconds": -1}, "for at most 24 h"),
        (ROOT, {"ask": "observations", "names": "x"}, "names must be a list"),
        (USER, {"ask": "acknowledge", "incident": "aa"}, "only root and the group gpudiag may ack"),
        (ROOT, {"ask": "acknowledge", "incident": "bb"}, "the agent knows no incident bb"),
        (ROOT, {"ask": "incident", "incident": "bb"}, "the agent knows no incident bb"),
        (ROOT, {"ask": "reboot"}, "no such question"),
        (ROOT, {}, "no such question"),
    ],
)
async def test_what_is_refused_and_why(peer: Peer, question: dict[str, Any], why: str) -> None:
    """Rights come from the socket's peer, and each refusal says its reason."""
    one = Fake()
    with pytest.raises(Refused) as raised:
        await answer(one, peer, question)

    assert (True, []) == (why in str(raised.value), one.released)


async def test_a_release_is_handed_on() -> None:
    """The answer says until when, and what of ours still hangs in the driver."""
    one = Fake()
    reply = await answer(one, ROOT, {"ask": "release-gpus", "seconds": 1800})

    assert ([1800.0], {"until": 1_796_000_000.0, "left": []}) == (one.released, reply)


async def test_observations_come_with_their_age() -> None:
    """What is not there is left out: whoever asks looks himself."""
    memory = HostMemory(total_bytes=1 << 40, available_bytes=1 << 39)
    one = Fake(kept={"HostMemory": (memory, 12.5)})
    reply = await answer(one, ROOT, {"ask": "observations", "names": ["HostMemory", "Bmc"]})

    assert {"HostMemory": {"seen": memory, "age_s": 12.5}} == reply


async def test_an_incident_is_acknowledged() -> None:
    """The answer is its life, as it is kept from now on."""
    life = Life(first_seen=1_796_000_000.0, check="gpu.count", state="acknowledged")
    one = Fake(lives={"aa": life})

    assert life == await answer(one, ROOT, {"ask": "acknowledge", "incident": "aa"})


async def test_an_incident_that_is_over_is_told_to_who_may_see_it() -> None:
    """Root has the whole; a stranger nothing of another user's job."""
    shown = document(finding(1), incidents=(incident(),))
    hidden = document(finding(1, kind="process", job="88124"), incidents=(incident(),))
    one = Fake(stories={"aa": shown, "cc": hidden}, known=Owners(jobs={"88124": 2000}))
    told = [
        await answer(one, peer, {"ask": "incident", "incident": name})
        for peer, name in ((ROOT, "aa"), (ROOT, "cc"), (USER, "aa"))
    ]
    with pytest.raises(Refused) as refused:
        await answer(one, USER, {"ask": "incident", "incident": "cc"})

    assert (["aa", "aa", "aa"], "the agent knows no incident cc") == (
        [said["incidents"][0]["fingerprint"] for said in told],
        str(refused.value),
    )


async def test_what_the_agent_would_act_upon_is_for_root_alone() -> None:
    """Since when each incident stands and what the fleet says; a user is told no word of it."""
    one = Fake(acting=Acting(walks={"aa": 4}, seen_s={"aa": 90.0}, clear_s=None))
    told = await answer(one, ROOT, {"ask": "acting"})
    with pytest.raises(Refused) as refused:
        await answer(one, USER, {"ask": "acting"})

    assert ({"aa": 4}, {"aa": 90.0}, "only root and the group gpudiag") == (
        told["walks"],
        told["seen_s"],
        str(refused.value)[:31],
    )
