"""A user sees the node's health and his own jobs; of others nothing, not even a word."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent.daemon.view import HIDDEN, Owners, owners, restricted
from collectors.facts.owner import Owner
from collectors.host.holders import Holder
from diagnostics.document import Incident, PlanLine, plain
from diagnostics.finding import Text
from tests.agent.daemon.documents import document, finding

MINE, OTHER = 1000, 2000
KNOWN = Owners(jobs={"88123": MINE, "88124": OTHER}, pids={4711: MINE, 4712: OTHER})


def seen(*findings: dict[str, Any]) -> dict[str, Any]:
    return restricted(plain(document(*findings)), MINE, KNOWN)


def test_the_node_s_health_is_shown_without_its_evidence() -> None:
    """A lost GPU is everybody's matter; the kernel's line may name a process and stays out."""
    shown = seen(finding(1))

    assert ("fault", ["f1"], [[]], "message of f1") == (
        shown["verdict"],
        [f["id"] for f in shown["findings"]],
        [f["evidence"] for f in shown["findings"]],
        shown["stages"][1]["checks"][0]["message"],
    )


def test_own_jobs_are_shown_whole() -> None:
    """A finding of my job or process comes with its evidence."""
    shown = seen(finding(1, job="88123"), finding(2, kind="process", name="4711", pid=4711))

    assert [1, 1] == [len(f["evidence"]) for f in shown["findings"]]


def test_others_are_hidden_in_every_place() -> None:
    """No finding, message, incident, plan line or cause tells of another's job."""
    secret = finding(2, kind="job", name="88124", job="88124")
    mine = {**finding(3, job="88123"), "explained_by": "f2"}
    incidents = tuple(
        Incident(
            id=f"i{root}",
            fingerprint=f"{root:016x}",
            subject={"kind": "gpu", "name": "x"},  # type: ignore[arg-type]  # plain, as it is sent
            root=f"f{root}",
            consequences=("f2", "f3"),
            sentence=f"sentence of f{root}",
            text=Text(key="k"),
            confidence=0.9,
        )
        for root in (1, 2)
    )
    plan = tuple(
        PlanLine(remedy=f"r{n}", incident=f"i{n}", decision="advised", reason="x") for n in (1, 2)
    )
    whole = document(finding(1), secret, mine, incidents=incidents, plan=plan)

    shown = restricted(plain(whole), MINE, KNOWN)
    text = json.dumps(shown)

    assert ([], ["i1"], ["f3"], [None, None], ["r1"], ["f1", "f3"], HIDDEN) == (
        [word for word in ("88124", '"f2"', "of f2", '"i2"', '"r2"') if word in text],
        [i["id"] for i in shown["incidents"]],
        shown["incidents"][0]["consequences"],
        [f["explained_by"] for f in shown["findings"]],
        [line["remedy"] for line in shown["plan"]],
        shown["root_causes"],
        shown["stages"][1]["checks"][1]["message"],
    )


SUBJECTS = st.fixed_dictionaries(
    {"kind": st.sampled_from(["gpu", "process", "job", "rank", "log", "mount", "node"])},
    optional={
        "job": st.sampled_from(["88124", "99999"]),
        "pid": st.sampled_from([4712, 9999]),
        "rank": st.integers(0, 7),
        "user": st.just("eve"),
    },
)


@given(st.lists(SUBJECTS, max_size=5))
def test_whatever_is_of_another_or_of_nobody_known_is_not_shown(
    subjects: list[dict[str, Any]],
) -> None:
    """What cannot be told to be the caller's own, or the node's, is not shown."""
    found = [finding(n, **{"name": f"n{n}", **s}) for n, s in enumerate(subjects)]
    nodes = [
        f["id"]
        for f, subject in zip(found, subjects, strict=True)
        if set(subject) == {"kind"} and subject["kind"] in {"gpu", "mount", "node"}
    ]

    assert nodes == [f["id"] for f in seen(*found)["findings"]]


def test_owners_come_from_the_kernel() -> None:
    """A job is its cgroup's user's, else its process's; the environment names nobody."""
    found = owners(
        (
            Holder(pid=1, comm="a", start_s=0.0, uid=5, job="7", owner=Owner(kind="slurm", uid=6)),
            Holder(pid=2, comm="b", start_s=0.0, uid=8, job="9", environ={"USER": "root"}),
            Holder(pid=3, comm="c", start_s=0.0),
        )
    )

    assert Owners(jobs={"7": 6, "9": 8}, pids={1: 5, 2: 8}) == found
