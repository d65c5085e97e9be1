"""The daemon's acting: what it passes on, what it takes for proof, and when it does nothing."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import structlog

from agent.daemon.acting import Remedying
from agent.daemon.checking import Checking
from agent.daemon.walker import Walk
from collectors.facts.observation import Cause, Missing, Observation
from diagnostics.document import CheckLine, Document, StageReport
from diagnostics.finding import Verdict
from remediations.act.hand import Done, Objection
from remediations.act.means import Lease, Refusal
from remediations.plan.actions import Action, Remedy, SlurmNode
from remediations.plan.standing import Standing

NAME = "gpu.count"


def document(verdict: Verdict = "ok") -> Document:
    line = CheckLine(check=NAME, verdict=verdict, message="8 GPUs of 8")
    stage = StageReport(name="driver", verdict="ok", seconds=0.1, checks=(line,))
    return Document(
        product="gpudiag",
        node="gpu-001",
        boot_id="b",
        started=None,
        seconds=None,
        verdict="ok",
        stages=(stage,),
        findings=(),
    )


def walk(ended: float, age_s: float, verdict: Verdict = "ok", **other: Any) -> Walk:
    return Walk(document=document(verdict), ended=ended, ages_s={NAME: age_s}, **other)


@pytest.mark.parametrize(
    ("walked", "against"),
    [
        (None, "no walk was made yet"),
        (walk(130.0, 20.0), None),
        (walk(130.0, 40.0), f"{NAME} was not looked at since"),
        (walk(130.0, 30.0), f"{NAME} was not looked at since"),
        (walk(130.0, 20.0, "fault"), f"{NAME} is fault: 8 GPUs of 8"),
        (walk(130.0, 20.0, "unknown"), f"{NAME} is unknown: 8 GPUs of 8"),
        (walk(130.0, 20.0, "warning"), f"{NAME} is warning: 8 GPUs of 8"),
    ],
)
async def test_proof(walked: Walk | None, against: str | None) -> None:
    """A check proves a repair where it is well over what was looked at after it, and only then."""
    checking = Checking(lambda: 100.0, lambda: walked)
    await checking.against([])
    assert against == await checking.against([NAME])


async def test_check_that_was_not_run() -> None:
    """A check that no walk makes proves nothing."""
    checking = Checking(lambda: 0.0, lambda: walk(10.0, 1.0))
    assert "gpu.links was not run" == await checking.against([NAME, "gpu.links"])


class Time:
    now_s = 1000.0

    def monotonic(self) -> float:
        return self.now_s

    def now(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        self.now_s += seconds


class Actor:
    """Answers `state`, or is not there."""

    def __init__(self, state: dict[str, Any] | None) -> None:
        self.state = state
        self.asked: list[str] = []

    async def ask(self, verb: str, args: Any, *, deadline_s: float = 10.0) -> Done | Objection:
        del args, deadline_s
        self.asked.append(verb)
        return Objection("no actor is running") if self.state is None else Done(self.state)


class Leases:
    def __init__(self) -> None:
        self.renewed: list[str] = []

    async def ask(self, action: Action, remedy: Remedy) -> Lease | Refusal:
        del action, remedy
        return Refusal("not in this test")

    async def give_back(self, lease: str) -> None:
        del lease

    async def renew(self, remedy: str) -> None:
        self.renewed.append(remedy)


def acted(lease: str, *, touched: bool = True, at: float = 900.0) -> dict[str, Any]:
    return {
        "id": lease, "key": "k", "remedy": "slurm.drain", "serial": None, "at": at,
        "lease": lease, "touched": touched, "outcome": "done",
    }  # fmt: skip # one row


def nothing(shape: type[Observation]) -> Missing:
    return Missing(what=shape.__name__, cause=Cause.NOT_RECORDED, detail="")


Make = Callable[..., Remedying]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[Remedying] = []

    def begin(actor: Actor, leases: Leases | None = None, policy: str = "") -> Remedying:
        path = tmp_path / "acting.toml"
        path.write_text(policy)
        path.chmod(0o600)
        service = Remedying(
            Time(),  # type: ignore[arg-type] # of the node it is only the time that is asked
            actor,  # type: ignore[arg-type] # it is only asked for its state
            tmp_path,
            structlog.get_logger(),
            nothing,
            leases=leases,
            policy=str(path),
        )
        made.append(service)
        return service

    yield begin
    for one in made:
        one.close()


STATE: dict[str, Any] = {"open": [], "history": [acted("l1"), acted("l2", touched=False)]}
ACT = '[mode]\n"slurm.drain" = "act"\n'


@pytest.mark.root
async def test_what_the_next_plan_rests_on(make: Make) -> None:
    """Policy, actor and past are known to the next walk; what changed nothing is no past."""
    service = make(Actor(STATE), policy=ACT)
    service.walked(walk(1000.0, 1.0))
    await service.round()
    now = service.now
    assert (True, "act", ["slurm.drain"], 0.0) == (
        now.actor,
        now.policy.of("slurm.drain"),
        [past.remedy for past in now.history],
        now.clear_s,
    )


@pytest.mark.root
@pytest.mark.parametrize(("policy", "problem"), [(ACT, "no actor is running"), ("", None)])
async def test_no_actor(make: Make, policy: str, problem: str | None) -> None:
    """Without an actor nothing is done; where the site wants acts, it is said in `status`."""
    service = make(Actor(None), policy=policy)
    service.walked(walk(1000.0, 1.0))
    done = await service.round()
    assert (None, False, problem) == (done, service.now.actor, service.problem)


@pytest.mark.root
async def test_policy_that_is_refused(make: Make, tmp_path: Path) -> None:
    """A policy that is not root's alone lets nothing act, and it is said what to do."""
    service = make(Actor(STATE), policy=ACT)
    (tmp_path / "acting.toml").chmod(0o666)
    service.walked(walk(1000.0, 1.0))
    await service.round()
    assert ("advise", True) == (
        service.now.policy.of("slurm.drain"),
        "chmod go-w" in (service.problem or ""),
    )


@pytest.mark.root
async def test_a_node_that_is_out_stays_under_its_lease(make: Make) -> None:
    """While our drain stands the lease is asked for anew each ten minutes, and no more often."""
    leases = Leases()
    service = make(Actor(STATE), leases)
    drained = SlurmNode(name="n", states=frozenset({"DRAIN", "IDLE"}), reason="gpudiag: gpu_lost x")
    for number in range(5):
        service.walked(walk(1000.0, 1.0, standing=Standing(slurm=drained)))
        await service.round()
        service._node.now_s += 300.0  # type: ignore[attr-defined] # the test's own clock
        del number
    by_others = msgspec.structs.replace(drained, reason="new fans")
    service.walked(walk(1000.0, 1.0, standing=Standing(slurm=by_others)))
    await service.round()
    assert ["slurm.drain"] * 3 == leases.renewed
