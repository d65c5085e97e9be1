"""A dump of the flight recorder says where its rank stands in each process group."""

import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.helpers.children import flight_recorder
from collectors.helpers.children.loop import Refused


def entry(group: str, sequence: int, **more: Any) -> dict[str, Any]:
    """Return one collective as the recorder writes it."""
    return {
        "pg_id": 3,
        "process_group": (group, "DATA_PARALLEL_GROUP"),
        "collective_seq_id": sequence,
        "profiling_name": "nccl:all_reduce",
        "input_sizes": [[8192, 16]],
        "time_created_ns": 1_790_000_000_000_000_000 + sequence,
        "state": "scheduled",
        "retired": False,
        "is_p2p": False,
        **more,
    }


def dump(*entries: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a dump with one group of four ranks."""
    config = {"21": {"name": "21", "desc": "DATA_PARALLEL_GROUP", "ranks": "[1, 5, 9, 13]"}}
    return {"version": "2.9", "pg_config": config, "pg_status": {}, "entries": entries, **more}


GROUP = {
    "name": "21",
    "desc": "DATA_PARALLEL_GROUP",
    "ranks": [1, 5, 9, 13],
    "pending": 41,
    "last": 42,
    "ends_known": True,
    "p2p": False,
    "calls": [
        {
            "sequence": number,
            "op": "nccl:all_reduce",
            "sizes": "8192x16",
            "created_ns": 1_790_000_000_000_000_000 + number,
            "pending": pending,
        }
        for number, pending in ((40, False), (41, True), (42, True))
    ],
}
THREE = (entry("21", 40, retired=True, state="completed"), entry("21", 41), entry("21", 42))


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps(dump(*THREE), protocol=2),
        pickle.dumps(dump(*THREE), protocol=5),
        json.dumps(dump(*THREE)).encode(),
    ],
    ids=["pickle 2", "pickle 5", "json"],
)
def test_pickle_and_json_say_the_same(data: bytes) -> None:
    """The first collective that has not ended, and the last that was called, in both forms."""
    assert {"version": "2.9", "groups": [GROUP]} == flight_recorder.summary(data)


def test_a_rank_without_entries_is_placed_by_its_status() -> None:
    """A rank that waits in nothing has no entry; groups are numbered in their names' order."""
    config = {
        name: {"name": name, "desc": "D", "ranks": "[0, 1]"} for name in ("0", "112", "9", "21")
    }
    status = {
        number: {"last_enqueued_collective": last, "last_completed_collective": last}
        for number, last in (("0", 5), ("4", 6), ("7", 7), ("16", 8))
    }
    said = flight_recorder.summary(
        json.dumps({"entries": [], "pg_config": config, "pg_status": status}).encode()
    )
    assert [("0", 5), ("9", 6), ("21", 7), ("112", 8)] == [
        (group["name"], group["last"]) for group in said["groups"]
    ]


def test_a_status_that_contradicts_the_entries_places_nothing() -> None:
    """Where the order of names is not that of the numbers, no group is guessed."""
    config = {name: {"name": name, "desc": "D", "ranks": "[0, 1]"} for name in ("0", "21")}
    status = {"3": {"last_enqueued_collective": 4}, "5": {"last_enqueued_collective": 4}}
    data = {"entries": [entry("21", 9)], "pg_config": config, "pg_status": status}
    said = flight_recorder.summary(json.dumps(data).encode())
    assert [("21", 9)] == [(group["name"], group["last"]) for group in said["groups"]]


def test_many_pending_calls_keep_the_first_and_the_newest() -> None:
    """The document stays small, and says where the rank stands and how far it came."""
    data = dump(*(entry("21", number) for number in range(1, 501)))
    (group,) = flight_recorder.summary(json.dumps(data).encode())["groups"]
    numbers = [call["sequence"] for call in group["calls"]]
    assert (1, 500, [*range(1, 9), *range(493, 501)]) == (group["pending"], group["last"], numbers)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "neither a pickle nor JSON"),
        (b"[" * 100_000, "neither a pickle nor JSON"),
        (b'{"version": "2.9"}', "it has no entries"),
        (pickle.dumps({"entries": 3}), "it has no entries"),
        (pickle.dumps({"entries": [print]}), "the pickle was refused, nothing of it was run"),
        (b"\x80\x02}q\x00(X\x07", "cut short"),
    ],
)
def test_what_is_no_dump_is_refused_in_one_line(data: bytes, said: str) -> None:
    """Broken, foreign and malicious files each get a reason."""
    with pytest.raises(Refused) as refused:
        flight_recorder.summary(data)
    assert said in str(refused.value)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ("process_group", "collective_seq_id", "is_p2p", "pg_id", "input_sizes", "0", "9")
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=15,
)


@given(entries=st.lists(JUNK, max_size=5), config=JUNK, status=JUNK)
def test_any_values_are_summed_up(entries: list[Any], config: Any, status: Any) -> None:
    """Whatever stands in a dump, the answer is JSON of the known form."""
    data = {"entries": entries, "pg_config": config, "pg_status": status}
    said = flight_recorder.summary(json.dumps(data).encode())
    assert {"version", "groups"} == json.loads(json.dumps(said)).keys()
