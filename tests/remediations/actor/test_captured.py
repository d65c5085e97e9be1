"""A captured agent: it may say what it likes in whatever order, and never leaves root's policy.

The policy turns on two remedies of the twelve. Whatever the client sends: only their verbs are
done, only within an action that was begun, never more often than the ladder has it, and the
journal has every one of them.
"""

import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remediations.actor import verbs
from remediations.actor.clock import boot_id
from remediations.actor.registry import KEEPERS, QUESTIONS, VERBS
from remediations.actor.rows import ROWS
from tests.remediations.actors import Started, wanted

pytestmark = [pytest.mark.root, pytest.mark.serial, pytest.mark.timeout(300)]
Start = Callable[..., Started]
verbs.load()
NAMES = sorted({*VERBS, *QUESTIONS, *KEEPERS, "put", "take", "is_put", "begin", "end", "settle"})
NAMES += ["mean", "state", "__init__", "exec", ""]
TEXTS = st.one_of(
    st.sampled_from([*ROWS, "slurm.drain", "gpu.reset", "person:0", "lease-1", "done", boot_id()]),
    st.sampled_from(["../../etc/passwd", "; reboot", "$(id)", "-x", "a\nb", "\x00", "gpudiag: x"]),
    st.text(max_size=20),
)
VALUES = st.one_of(
    TEXTS,
    st.integers(-(10**12), 10**12),
    st.booleans(),
    st.none(),
    st.floats(),
    st.lists(TEXTS, max_size=3),
    st.dictionaries(TEXTS, TEXTS, max_size=2),
)
KEYS = ("id", "name", "reason", "gpu", "gpus", "limit_mw", "why", "steps", "root", "policy", "uid")
REQUEST = st.one_of(
    st.tuples(st.sampled_from(NAMES), st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4)),
    st.tuples(
        st.just("begin"),
        st.fixed_dictionaries(
            {"remedy": st.sampled_from([*ROWS, "x"]), "lease": TEXTS},
            optional={"boot_id": TEXTS, "deadline_s": VALUES, "serial": TEXTS, "key": TEXTS},
        ),
    ),
    st.tuples(st.sampled_from(["put", "take"]), st.fixed_dictionaries({"name": st.just("a")})),
    st.tuples(st.just("end"), st.fixed_dictionaries({"outcome": TEXTS, "said": TEXTS})),
)


class Captured:
    """A client that speaks the line by itself; it uses the last action that was opened to it."""

    def __init__(self, actor: Started) -> None:
        self._actor = actor
        self.open = "0123456789abcdef"

    def send(self, requests: list[tuple[str, dict[str, Any]]]) -> Iterator[dict[str, Any]]:
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(20)
            link.connect(str(self._actor.socket))
            with link.makefile("rwb") as both:
                both.readline()
                for verb, args in requests:
                    both.write(self._line(verb, dict(args)))
                    both.flush()
                    answer = json.loads(both.readline())
                    self.open = (
                        (answer.get("ok") or {}).get("id", self.open)
                        if verb == "begin"
                        else self.open
                    )
                    yield answer

    def _line(self, verb: str, args: dict[str, Any]) -> bytes:
        if verb == "begin" and "remedy" in args:
            args = wanted(args.pop("remedy"), **args)
        elif verb in (*VERBS, "put", "take", "end") and "id" not in args:
            args["id"] = self.open
        return json.dumps({"verb": verb, "args": args}).encode() + b"\n"


@given(st.lists(REQUEST, min_size=1, max_size=12))
@settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_never_leaves_policy(
    captured_actor: Started, requests: list[tuple[str, dict[str, Any]]]
) -> None:
    """Every answer is one line of JSON; what was done is within policy, counted, and written."""
    answers = list(Captured(captured_actor).send(requests))
    lines = [json.loads(x) for x in captured_actor.journal()]
    begun = {x["id"]: x["remedy"] for x in lines if x["kind"] == "begin"}
    done = captured_actor.done()
    meant = [x for x in lines if x["kind"] == "intent"]
    assert (True, True, True, True) == (
        all("ok" in one or "missing" in one for one in answers),
        set(begun.values()) <= {"slurm.drain", "gpu.power_cap"},
        len(done) <= len(meant),
        {x["verb"] for x in meant} <= {"put", "take", "slurm_drain", "slurm_resume"},
    )


@pytest.fixture(scope="module")
def captured_actor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """One actor for all of it: what a client did before is still there."""
    actor = Started(
        tmp_path_factory.mktemp("captured"),
        "slurm.drain",
        "gpu.power_cap",
        # No cluster and no GPU is to be reached from here, whatever it manages to ask.
        env={"SLURM_CONF": "/nonexistent"},
    )
    actor.start()
    yield actor
    actor.kill()


def test_ladder_holds_against_it(start_actor: Start) -> None:
    """However often it asks, a node is touched five times in seven days, and no more."""
    actor = start_actor("slurm.drain", "gpu.reset", "fabric_manager.restart", "process.end_orphan")
    for day in range(30):
        for remedy in ("slurm.drain", "gpu.reset"):
            opened = actor.ask("begin", **wanted(remedy))
            if hasattr(opened, "value"):
                action = opened.value["id"]
                actor.ask("put", id=action, name=f"d{day}")
                actor.ask("end", id=action, outcome="done", said="well")
        actor.age(hours=3)
    assert 5 == len(actor.done())


def test_reader_users_are_not_let_in(start_actor: Start) -> None:
    """Who is not named by the policy hears one line, and nothing of his is read."""
    actor = start_actor("slurm.drain")
    actor.folder.chmod(0o755)
    code = (
        f"import socket,os;os.chdir({str(actor.folder)!r});os.setuid(4321);"
        "s=socket.socket(socket.AF_UNIX);s.connect('actor.sock');print(s.makefile().readline())"
    )
    assert "the actor's policy does not name uid 4321" in actor.python(code)
