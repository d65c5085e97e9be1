"""A pickle is read without running anything: plain values come out, all else is refused."""

import os
import pickle
import pickletools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from collectors.helpers.children import pickled

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(2**63), max_value=2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text() | st.integers(0, 9), inner)
        | st.tuples(inner, inner)
        | st.tuples(inner)
        | st.tuples(inner, inner, inner, inner)
    ),
    max_leaves=20,
)


@given(value=PLAIN, protocol=st.sampled_from((2, 3, 4, 5)))
def test_plain_values_come_out_as_they_went_in(value: object, protocol: int) -> None:
    """What Python itself pickles of plain values is read back the same."""
    assert value == pickled.loads(pickle.dumps(value, protocol=protocol))


@given(data=st.binary(max_size=200).map(lambda rest: b"\x80\x02" + rest))
@example(data=b"\x80\x02j\xff\xff\xff\xff.")
@example(data=b"\x80\x02]e.")
@example(data=b"\x80\x02((u.")
@example(data=b"\x80\x02}(}}u.")
@example(data=b"\x80\x02X\xff\xff\xff\xff")
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """Whatever the bytes are, the answer is a value or one clear refusal."""
    try:
        pickled.loads(data)
        refused = ""
    except pickled.NotPlainError as problem:
        refused = str(problem)
    assert refused or pickled.loads(data) is not NotImplemented


class Evil:
    """What a pickle can be made to call."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch /tmp/gpudiag-was-here",)


@pytest.mark.parametrize("protocol", [0, 1, 2, 4])
def test_a_pickle_that_calls_something_is_refused_and_calls_nothing(
    protocol: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking a name up is already refused, so that nothing is left to be called."""
    called: list[str] = []
    monkeypatch.setattr(os, "system", called.append)
    data = pickle.dumps({"entries": [Evil()]}, protocol=protocol)
    with pytest.raises(pickled.NotPlainError, match=r"opcode 0x\w\w at byte \d+ asks for more"):
        pickled.loads(data)
    assert [] == called


def test_no_opcode_of_ours_looks_a_name_up() -> None:
    """Python's own table says which opcodes look up, call or build; none of them is read."""
    harmful = {
        op.code.encode("latin-1")
        for op in pickletools.opcodes
        if op.name
        in (
            *("GLOBAL", "STACK_GLOBAL", "REDUCE", "BUILD", "INST", "OBJ", "NEWOBJ", "NEWOBJ_EX"),
            *("EXT1", "EXT2", "EXT4", "PERSID", "BINPERSID", "NEXT_BUFFER", "READONLY_BUFFER"),
        )
    }
    assert (15, set()) == (len(harmful), harmful & set(pickled.ACTS))


def test_a_list_that_holds_itself_is_read() -> None:
    """A ring is a value like another: nothing of ours walks through it."""
    ring: list[object] = []
    ring.append(ring)
    read = pickled.loads(pickle.dumps(ring, protocol=2))
    assert read is read[0]


def test_opcodes_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pickle that goes on and on ends with the bound."""
    monkeypatch.setattr(pickled, "MOST_OPCODES", 100)
    with pytest.raises(pickled.NotPlainError) as refused:
        pickled.loads(b"\x80\x02" + b"N" * 200 + b".")
    assert "more than 100 opcodes" == str(refused.value)
