"""NCCL's RAS service is asked as its own client asks it, and its two reports say the same."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.observation import Cause, Missing
from collectors.helpers.children import ras as verb
from collectors.helpers.children.loop import Refused
from collectors.jobs.ras import Communicator, Count, Member, address, in_text, parse

HASH = "5c81d9a0b27e4f13"
ELEVEN = Member(rank=11, host="10.31.0.12", pid=7723, gpu=3)


def rank(number: int, launched: int, **more: Any) -> dict[str, Any]:
    """Return one rank as rasDumpCommsToJSON writes it."""
    return {
        "rank": number,
        "host": "10.31.0.12" if number > 7 else "10.31.0.11",
        "pid": 7723 if number == 11 else 5000 + number,
        "cuda_dev": number % 8,
        "nvml_dev": number % 8,
        "status": {"init_state": 0, "async_error": 0, "abort_flag": False},
        "collective_counts": {"Broadcast": 4, "AllReduce": launched},
        **more,
    }


def report(ranks: list[dict[str, Any]], missing: list[dict[str, Any]]) -> str:
    """Return a report of one communicator of 16 as JSON."""
    communicator = {
        "hash": f"0x{HASH}",
        "secondary_hash": "0x1:0x2",
        "size": 16,
        "ranks_count": len(ranks),
        "missing_ranks_count": len(missing),
        "ranks": ranks,
        "missing_ranks": missing,
    }
    head = {"nccl_version": "2.28.3", "timestamp": "2026-11-30 02:11:09"}
    tail = {"ras": {"collection_time_sec": 0.003, "timeouts_count": 0}}
    return json.dumps({**head, "communicators_count": 1, "communicators": [communicator], **tail})


TEXT = f"""NCCL version 2.25.1 compiled with CUDA 12.8
CUDA runtime version 12080, driver version 13000

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      2          8            1         16       16

Communicators... (0.01s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         2         8        16        16   RUNNING  MISMATCH

Errors
======

Warnings
========

#0-0 ({HASH}) MISMATCH
  Communicator ranks have different AllReduce operation counts
  15 ranks have launched up to operation 8812
  Rank 11 has launched up to operation 8811 -- GPU 5 (NVML 3) managed by process 7723 on node 10.31.0.12

"""  # noqa: E501 - a line as NCCL prints it
DEAD = f"""Errors
======

DEAD
  1 job process is considered dead (unreachable via the RAS network)
  Process 7723 on node 10.31.0.12 managing GPU 3

#0-0 ({HASH}) INCOMPLETE
  Missing communicator data from 1 rank
  Rank 11 -- GPU 3 managed by process 7723 on node 10.31.0.12

"""

Answer = Callable[[str], str | None]


class Service:
    """A RAS service as NCCL's thread is one: lines in, lines out, the report, and it hangs up."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.asked: list[str] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        peer, _ = self._listening.accept()
        with peer, peer.makefile("rw", encoding="utf-8", newline="\n") as lines:
            for line in lines:
                self.asked.append(line.rstrip("\n"))
                said = self._answer(self.asked[-1])
                if said is None:
                    return
                lines.write(said)
                lines.flush()
                if "STATUS" in self.asked[-1]:
                    return

    def close(self) -> None:
        """End it."""
        self._listening.close()
        self._thread.join(5)


def answers(text: str, *, knows_json: bool) -> Answer:
    """Return what NCCL answers to each line."""

    def answer(line: str) -> str | None:
        if line.startswith("CLIENT PROTOCOL "):
            return "SERVER PROTOCOL 2\n"
        if line.startswith("TIMEOUT "):
            return "OK\n"
        if line.startswith("SET FORMAT "):
            return "OK\n" if knows_json else f"ERROR: Unknown command {line}\n"
        return text

    return answer


@pytest.fixture
def served(request: pytest.FixtureRequest) -> Iterator[Service]:
    """Serve what the test says."""
    service = Service(request.param)
    yield service
    service.close()


JSON = report([rank(n, 8811 if n == 11 else 8812) for n in range(16)], [])
ASKED = ["CLIENT PROTOCOL 2", "TIMEOUT 3", "SET FORMAT json", "VERBOSE STATUS"]


@pytest.mark.parametrize("served", [answers(JSON, knows_json=True)], indirect=True)
def test_a_new_service_answers_as_json(served: Service) -> None:
    """The lines are those of NCCL's own client, and the report is taken as it is."""
    got = verb.ras("127.0.0.1", served.port)
    assert ({"format": "json", "text": JSON}, ASKED) == (got, served.asked)


@pytest.mark.parametrize("served", [answers(TEXT, knows_json=False)], indirect=True)
def test_a_service_that_knows_no_json_answers_as_text(served: Service) -> None:
    """Before 2.28 the format cannot be set: the report comes as text."""
    assert {"format": "text", "text": TEXT} == verb.ras("localhost", served.port)


@pytest.mark.parametrize(
    "served", [lambda _: "HTTP/1.1 400 Bad Request\n", lambda _: None], indirect=True
)
def test_another_service_is_refused(served: Service) -> None:
    """Whatever else listens at the port is left after its first line."""
    with pytest.raises(Refused, match="no RAS service of NCCL"):
        verb.ras("127.0.0.1", served.port)


@pytest.mark.parametrize(
    "host", ["198.51.100.7", "nccl.example", "", "127.0.0.1 ", "::ffff:8.8.8.8"]
)
def test_only_addresses_of_this_node_are_asked(host: str) -> None:
    """A job's environment cannot make us knock at other doors, nor ask for a name."""
    with pytest.raises(Refused) as refused:
        verb.ras(host, 28028)
    assert "denied" == refused.value.cause


def test_nothing_that_listens_is_told_from_what_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A NCCL without the service has nobody at the port; one that hangs accepts and is silent."""
    monkeypatch.setattr(verb, "DEADLINE_S", 0.2)
    causes = []
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for port in (silent.getsockname()[1], 1):
            with pytest.raises(Refused) as refused:
                verb.ras("127.0.0.1", port)
            causes.append(refused.value.cause)
    assert ["timeout", "no_tool"] == causes


def read(answer: dict[str, str]) -> tuple[Communicator, ...]:
    """Return what a report that is understood says."""
    told = parse(answer)
    assert not isinstance(told, Missing)
    return told


def test_json_and_text_say_who_launched_least() -> None:
    """Both reports name rank 11, with its host, process and the GPU by NVML's number."""
    (in_json,) = read({"format": "json", "text": JSON})
    (as_text,) = read({"format": "text", "text": TEXT})
    assert (in_json.counts[0], 15) == (as_text.counts[0], as_text.counts[1].number)
    assert Count(op="AllReduce", launched=8811, number=1, members=(ELEVEN,)) == as_text.counts[0]


def test_both_reports_say_who_is_absent() -> None:
    """A process that RAS reaches no more is a missing rank in JSON and INCOMPLETE in text."""
    lost = rank(11, 0, status={"unresponsive": True, "considered_dead": True})
    (in_json,) = read({"format": "json", "text": report([], [lost])})
    (as_text,) = read({"format": "text", "text": DEAD})
    told = [(one.rank, one.pid, one.gpu) for one in (*in_json.absent, *as_text.absent)]
    assert [(11, 7723, 3), (11, 7723, 3)] == told


@pytest.mark.parametrize(
    ("environ", "where"),
    [
        ({}, ("127.0.0.1", 28028)),
        ({"NCCL_RAS_ADDR": "localhost:28030"}, ("localhost", 28030)),
        ({"NCCL_RAS_ADDR": "[::1]:28031"}, ("::1", 28031)),
        ({"NCCL_RAS_ADDR": "somewhere"}, None),
        ({"NCCL_RAS_ENABLE": "0"}, None),
    ],
)
def test_the_address_is_the_jobs_own(
    environ: dict[str, str], where: tuple[str, int] | None
) -> None:
    """Several jobs on one node listen at several ports, by NCCL_RAS_ADDR."""
    assert where == address(environ)


def test_what_is_no_report_is_missing() -> None:
    """JSON that is cut short, and an answer of another form, are not understood."""
    broken = [parse({"format": "json", "text": JSON[:200]}), parse({"text": 3}), parse(None)]
    assert [Cause.GARBLED] * 3 == [one.cause for one in broken if isinstance(one, Missing)]


LINES = st.sampled_from([*TEXT.splitlines(), *DEAD.splitlines()]) | st.text(max_size=40)


@given(lines=st.lists(LINES, max_size=30))
def test_any_text_is_read(lines: list[str]) -> None:
    """Whatever stands in a report, communicators come out, each with what was said of it."""
    found = list(in_text("\n".join(lines)))
    assert all(isinstance(one, Communicator) and one.name.startswith("0x") for one in found)
