"""What stands above a line of a tool is told with it."""

from hypothesis import given
from hypothesis import strategies as st

from diagnostics.rules.above import MOST, Above, Told
from diagnostics.rules.line import Line

QUERY = """\
GPU 00000000:4E:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    ECC Errors
        Volatile
            SRAM Uncorrectable            : 1
        Aggregate
            SRAM Uncorrectable            : 4
    Remapped Rows
        Pending                           : Yes
GPU 00000000:5B:00.0
    Remapped Rows
        Pending                           : No
"""
TABLE = """\
+---------------------------+------------------------------------------------+
| Warning                   | GPU 3 Thermal violations totaling 7.2 seconds  |
|                           |  started at 4.1 seconds into the test          |
| Info                      | Pass                                           |
"""
LINKS = """\
GPU 6: NVIDIA H100 80GB HBM3 (UUID: GPU-3f1c9a52-7d1e-4b0a-9c56-2e8d4f6a1b30)
\t Link 0: <inactive>
GPU 7: NVIDIA H100 80GB HBM3 (UUID: GPU-4f1c9a52-7d1e-4b0a-9c56-2e8d4f6a1b31)
\t Link 0: {0}
"""


def read(text: str) -> tuple[list[str], list[str]]:
    """Return what each line says, and what is said at the end."""
    above = Above()
    told = [above.told(Line(n, line)) for n, line in enumerate(text.splitlines(), 1)]
    return told, [late.text.rstrip() for late in above.late()]


def test_a_value_has_its_gpu_and_section() -> None:
    """Volatile and aggregate counts read alike, and so do the GPUs of one node."""
    told = [line.replace("  ", "") for line in read(QUERY)[0] if "Uncorr" in line or "Pend" in line]

    assert [
        "GPU 00000000:4E:00.0 > Volatile > SRAM Uncorrectable: 1",
        "GPU 00000000:4E:00.0 > Aggregate > SRAM Uncorrectable: 4",
        "GPU 00000000:4E:00.0 > Remapped Rows > Pending : Yes",
        "GPU 00000000:5B:00.0 > Remapped Rows > Pending : No",
    ] == [" ".join(line.split()).replace(" :", ":", line.count("Unc")) for line in told]


def test_a_cell_is_put_together() -> None:
    """A sentence that was broken over rows is whole, at the line where it begins."""
    assert [
        "GPU 3 Thermal violations totaling 7.2 seconds started at 4.1 seconds into the test",
        "Pass",
    ] == read(TABLE)[1]


def test_a_link_is_down_where_others_are_up() -> None:
    """Boards without a bridge have no active link at all, and are well."""
    assert (["GPU 6 > \t Link 0: <inactive>"], []) == (
        read(LINKS.format("26.562 GB/s"))[1],
        read(LINKS.format("<inactive>"))[1],
    )


def test_what_may_be_given_is_told_with_what_is_there() -> None:
    """A node's capacity stands lines above what it may give."""
    text = "Capacity:\n  nvidia.com/gpu:  8\nAllocatable:\n  nvidia.com/gpu:  7\n"

    assert "Capacity 8 > Allocatable >   nvidia.com/gpu:  7" == read(text)[0][-1]


@given(st.lists(st.sampled_from((QUERY + TABLE + LINKS).splitlines()) | st.text(max_size=80)))
def test_any_order_of_lines_is_read(lines: list[str]) -> None:
    """Whatever comes, each line says at least itself, and a late one was among them."""
    above = Above()
    told = [above.told(Line(n, line)) for n, line in enumerate(lines)]
    late: list[Told] = list(above.late())

    assert all(said.endswith(line) for said, line in zip(told, lines, strict=True))
    assert all(one.line.text == lines[one.line.number] for one in late)


def test_a_flood_costs_its_cap() -> None:
    """A table without end keeps no more than a part of it."""
    assert MOST == len(
        read(f"{TABLE}| Error                     | GPU 3 is ill               |\n" * 2_000)[1]
    )
