"""Kubernetes' verbs against an API server of our own that conflicts, expires, refuses and tears."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from remediations.act import api_server
from remediations.act.api_server import ApiServer
from remediations.act.hand import Done, Objection
from remediations.act.kubernetes import KubernetesHand
from remediations.plan.actions import KubeNode, KubePod
from tests.remediations.act import kube_api
from tests.remediations.act.kube_api import NODE, TOKEN, UID, Kube, failure, served

REASON = "gpudiag: gsp_timeout gpu 0000:4e:00.0 incident 0f3a5c7e9b1d2460"
TAINT = {"key": "gpudiag/out", "value": "incident", "effect": "NoSchedule"}
RACK = {"key": "rack", "effect": "PreferNoSchedule"}
POD = f"train/worker-3/{UID}"


class World:
    """The server and our hand; what it waits passes at once, and is kept."""

    def __init__(self, kube: Kube, url: str) -> None:
        self.kube = kube
        self.waited: list[float] = []
        self.token = TOKEN
        self.hand = KubernetesHand(ApiServer(url, self._token, None, self._sleep), NODE)

    async def _token(self) -> str:
        return self.token

    async def _sleep(self, seconds: float) -> None:
        self.waited.append(seconds)
        await asyncio.sleep(0)

    async def ask(self, verb: str, deadline_s: float = 20.0, **args: Any) -> Done | Objection:
        return await self.hand.ask(verb, args, deadline_s=deadline_s)

    async def cordon(self) -> Done | Objection:
        return await self.ask("kubernetes_cordon", reason=REASON)

    async def uncordon(self, reason: str = REASON) -> Done | Objection:
        return await self.ask("kubernetes_uncordon", reason=reason)

    async def stands(self) -> tuple[Any, Any]:
        """Return whether our cordon stands, and whether none does."""
        told = [
            await self.ask(f"kubernetes_{word}", reason=REASON)
            for word in ("cordoned", "uncordoned")
        ]
        return tuple(one.value if isinstance(one, Done) else one.why for one in told)  # type: ignore[return-value] # two


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """Serve a node in use."""
    kube = Kube()
    async with served(kube) as url:
        yield World(kube, url)


def why(answer: Done | Objection) -> str:
    assert isinstance(answer, Objection)
    return answer.why


async def test_out_and_back(world: World) -> None:
    """Cordoned with our taint and annotation beside those of others; and all of ours taken off."""
    before = await world.stands()
    first = await world.cordon()
    out = (world.kube.spec, world.kube.notes["gpudiag/reason"], await world.stands())
    status = world.kube.conditions[0]["status"]
    expected = ({"taints": [RACK, TAINT], "unschedulable": True}, REASON, (True, False))
    assert (Done("as wanted"), expected, (False, True), "True") == (first, out, before, status)
    second = await world.uncordon()
    back = (world.kube.spec, world.kube.notes, await world.stands())
    assert (Done("as wanted"), ({"taints": [RACK]}, {"volumes": "attached"}, (False, True))) == (
        second,
        back,
    )


async def test_out_twice(world: World) -> None:
    """What is as wanted is not changed again."""
    await world.cordon()
    version = world.kube.version
    assert (Done("as wanted"), version) == (await world.cordon(), world.kube.version)


@pytest.mark.parametrize("times", [1, 3])
async def test_somebody_is_faster(world: World, times: int) -> None:
    """A change that was made of an older version is made anew, of the newer one."""
    world.kube.next["PATCH gpu"] = [kube_api.conflict] * times
    answer = await world.cordon()
    assert (Done("as wanted"), times + 1, [RACK, TAINT]) == (
        answer,
        world.kube.asked.count("PATCH gpu"),
        world.kube.spec["taints"],
    )


async def test_somebody_cordons_it_first(world: World) -> None:
    """Between our look and our change: it is theirs then, and left alone."""

    async def theirs(kube: Kube, _: Any) -> None:
        kube.spec["unschedulable"] = True
        kube.others_change()

    world.kube.next["PATCH gpu"] = [theirs]
    answer = await world.cordon()
    back = await world.uncordon()
    assert ("somebody else has cordoned it",) * 2 == (why(answer), why(back))
    assert {"taints": [RACK], "unschedulable": True} == world.kube.spec


async def test_another_reason_of_ours(world: World) -> None:
    """An older incident's cordon is not taken back for a newer one, nor replaced by it."""
    await world.cordon()
    back = await world.uncordon("gpudiag: another")
    out = await world.ask("kubernetes_cordon", reason="gpudiag: another")
    assert (f"it is out by us for something else: {REASON}", f"out by us: {REASON}") == (
        why(back),
        why(out),
    )


async def test_a_server_that_is_busy(world: World) -> None:
    """It says how long it does not want to be asked, and is not asked for so long."""
    busy = failure(429, "too many requests", Retry_After="7")
    world.kube.next["GET gpu"] = [busy]
    world.kube.next["PATCH gpu"] = [failure(503, "etcd leader changed")]
    assert (Done("as wanted"), [7.0, 1.0]) == (await world.cordon(), world.waited)


async def test_a_server_that_stays_busy(world: World) -> None:
    """Until the deadline; then it says so, and nothing was changed."""
    world.kube.next["GET gpu"] = [failure(429, "slow down", Retry_After="25") for _ in range(9)]
    answer = await world.cordon()
    assert ("Kubernetes: it answers 429: slow down", False, None) == (
        why(answer),
        isinstance(answer, Objection) and answer.lost,
        world.kube.spec.get("unschedulable"),
    )


@pytest.mark.parametrize("broken", [kube_api.torn, kube_api.garbled])
async def test_answers_that_cannot_be_read(world: World, broken: Any) -> None:
    """A torn answer and a proxy's page are none: it is asked again."""
    world.kube.next["GET gpu"] = [broken]
    world.kube.next["PATCH gpu"] = [broken]
    assert (Done("as wanted"), (True, False)) == (await world.cordon(), await world.stands())


async def test_a_change_whose_answer_is_lost(world: World) -> None:
    """It was made: the next look shows it, and it is not made twice."""
    world.kube.next["PATCH gpu"] = [kube_api.done_and_torn]
    assert (Done("as wanted"), 1) == (
        await world.cordon(),
        world.kube.asked.count("PATCH gpu"),
    )


async def test_nobody_knows(world: World) -> None:
    """The answer is lost, and so is every one after it: that is said."""
    world.kube.next["PATCH gpu"] = [kube_api.done_and_torn]
    world.kube.next["GET gpu"] = [None, *[failure(500, "no") for _ in range(99)]]
    answer = await world.ask("kubernetes_cordon", deadline_s=0.5, reason=REASON)
    assert isinstance(answer, Objection)
    assert answer.lost


async def test_a_slow_server(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is waited for a while, and asked again."""
    monkeypatch.setattr(api_server, "TIMEOUT", aiohttp.ClientTimeout(total=0.3))
    world.kube.next["GET gpu"] = [kube_api.slow]
    assert (Done("as wanted"), [1.0]) == (await world.cordon(), world.waited)


@pytest.mark.parametrize(("status", "hint"), [(401, "token"), (403, "lacks a right")])
async def test_no_right(world: World, status: int, hint: str) -> None:
    """It is said what to do; nothing is asked again."""
    world.kube.next["PATCH gpu"] = [failure(status, "forbidden")]
    answer = why(await world.cordon())
    assert (True, 1) == (hint in answer, world.kube.asked.count("PATCH gpu"))


async def test_a_token_that_is_changed(world: World) -> None:
    """It is read for each question: the kubelet writes another each hour."""
    world.token = "old"  # noqa: S105 - of the test
    first = why(await world.cordon())
    world.token = TOKEN
    assert (True, Done("as wanted")) == ("401" in first, await world.cordon())


async def test_a_list_that_expires(world: World) -> None:
    """410 in the middle of the pages: it is read anew, and nothing is there twice."""
    for n in range(5):
        world.kube.pod(f"worker-{n}", "running")
    world.kube.page = 2
    world.kube.next["GET pods"] = [None, failure(410, "The provided continue parameter is too old")]
    told = await world.hand.look()
    assert isinstance(told, KubeNode)
    assert [f"train/worker-{n}" for n in range(5)] == [pod.name for pod in told.pods]


async def test_pods_that_matter(world: World) -> None:
    """Those with a GPU that a controller starts elsewhere; dead is where no container runs."""
    kube = world.kube
    kube.pod("dead", "waiting")
    kube.pod("ended", "terminated")
    kube.pod("runs", "running")
    kube.pod("exporter", "running", ownerReferences=[{"kind": "DaemonSet"}])
    kube.pod("static", "running", annotations={"kubernetes.io/config.mirror": "x"})
    kube.pod("leaves", "running", deletionTimestamp="2026-11-30T02:11:09Z")
    kube.pod("../../nodes", "running")
    kube.pod("plain", "running")
    kube.pods["plain"]["spec"] = {"containers": [{}]}
    pods = tuple(
        KubePod(name=f"train/{name}", uid=UID, dead=dead)
        for name, dead in (("dead", True), ("ended", True), ("runs", False))
    )
    assert KubeNode(name=NODE, pods=pods) == await world.hand.look()


async def test_a_dead_job_is_evicted(world: World) -> None:
    """By its own identity, and only then it says that it is done."""
    world.kube.pod("worker-3", "waiting")
    before = await world.ask("kubernetes_evicted", pods=[POD], running=False)
    answer = await world.ask("kubernetes_evict", pods=[POD], running=False)
    after = await world.ask("kubernetes_evicted", pods=[POD], running=False)
    sent = world.kube.evictions[0]["deleteOptions"]["preconditions"]
    told = (before, answer, after, sent)
    assert (Done(value=False), Done("1 evicted"), Done(value=True), {"uid": UID}) == told


async def test_one_that_runs_is_left(world: World) -> None:
    """Unless the policy says otherwise; it may have come to life since the plan was made."""
    world.kube.pod("worker-3", "running")
    first = await world.ask("kubernetes_evict", pods=[POD], running=False)
    second = await world.ask("kubernetes_evict", pods=[POD], running=True)
    assert ("pod train/worker-3 runs: its job is not dead", Done("1 evicted")) == (
        why(first),
        second,
    )


async def test_another_pod_of_that_name(world: World) -> None:
    """The one that was meant is gone; its successor is not touched."""
    world.kube.pod("worker-3", "waiting")
    world.kube.pods["worker-3"]["metadata"]["uid"] = UID.replace("5a", "77")
    answer = await world.ask("kubernetes_evict", pods=[POD], running=False)
    assert (Done("1 evicted"), []) == (answer, world.kube.evictions)


async def test_a_budget_that_has_room_later(world: World) -> None:
    """The server refuses until other pods of it are up: it is asked again when it says."""
    world.kube.pod("worker-3", "waiting")
    no = "Cannot evict pod as it would violate the pod's disruption budget."
    world.kube.next["POST eviction"] = [failure(429, no, Retry_After="10") for _ in range(2)]
    answer = await world.ask("kubernetes_evict", 60.0, pods=[POD], running=False)
    assert (Done("1 evicted"), [10.0, 10.0]) == (answer, world.waited[:2])


async def test_a_budget_that_never_has_room(world: World) -> None:
    """Its sentence is what a person reads, and the pod is there still."""
    world.kube.pod("worker-3", "waiting")
    no = "Cannot evict pod as it would violate the pod's disruption budget."
    world.kube.next["POST eviction"] = [failure(429, no, Retry_After="30")]
    answer = await world.ask("kubernetes_evict", 20.0, pods=[POD], running=False)
    assert (f"Kubernetes: it answers 429: {no}", ["worker-3"]) == (
        why(answer),
        list(world.kube.pods),
    )


async def test_an_event_is_told_once(world: World) -> None:
    """Outside of act this is all that is written; told again after a restart it stays one."""
    told = [
        await world.hand.tell("0f3a.advised", "GspTimeout", "the GPU's firmware does not answer")
        for _ in range(2)
    ]
    event = world.kube.events["gpudiag.0f3a.advised"]
    said = (event["reason"], event["involvedObject"]["name"], event["type"])
    assert ([True, True], 1, ("GspTimeout", NODE, "Warning")) == (
        told,
        len(world.kube.events),
        said,
    )


async def test_other_words(world: World) -> None:
    """A verb that is none is refused before anything is asked."""
    answer = await world.ask("kubernetes_delete", reason=REASON)
    assert ("kubernetes_delete is no verb of Kubernetes'", []) == (why(answer), world.kube.asked)
