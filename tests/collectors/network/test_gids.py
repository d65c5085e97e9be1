"""Tables of addresses as sysfs shows them."""

import asyncio
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.answers import Files
from collectors.facts.wanted import Wanted
from collectors.network.gids import Gid, Gids, PortGids, collect, parse
from tests.recording import recorded

PORT = "/sys/class/infiniband/mlx5_2/ports/1"
EMPTY = ":".join(["0000"] * 8)
FOUR = "0000:0000:0000:0000:0000:ffff:c000:0223"


def tree(**entries: str) -> dict[str, str]:
    """Return the files of one port: what stands at `p3` is its fourth place."""
    files = {}
    for place, text in entries.items():
        address, version, netdev = text.split(" ")
        index = place[1:]
        files[f"{PORT}/gids/{index}"] = f"{address}\n"
        # The kernel answers EINVAL where a place is empty, so that no file is read.
        if version != "-":
            files[f"{PORT}/gid_attrs/types/{index}"] = f"{version.replace('_', ' ')}\n"
            files[f"{PORT}/gid_attrs/ndevs/{index}"] = f"{netdev}\n"
    return files


def test_a_table_as_the_kernel_shows_it(tmp_path: Path) -> None:
    """Empty places are left out, and each entry says of which version and interface it is."""
    local = "fe80:0000:0000:0000:0a00:27ff:fe12:3456"
    files = tree(
        p0=f"{local} IB/RoCE_v1 eth2",
        p1=f"{EMPTY} - -",
        p3=f"{FOUR} RoCE_v2 eth2",
        p12="fe80:0000:0000:0000:0000:0000:0000:0000 - -",
        p31="2001:0db8:0000:0000:0000:0000:0000:0023 RoCE_v3 ../x",
        p77=f"{FOUR} RoCE_v2 eth2",
    )
    node = recorded(tmp_path, files=files)

    expected = Gids(
        ports=(
            PortGids(
                port="mlx5_2/1",
                gids=(
                    Gid(index=0, address="fe80::a00:27ff:fe12:3456", version=1, netdev="eth2"),
                    Gid(index=3, address="::ffff:192.0.2.35", version=2, netdev="eth2"),
                    Gid(index=31, address="2001:db8::23"),
                ),
            ),
        )
    )
    assert expected == asyncio.run(collect(node, Wanted()))


def test_what_an_address_is_good_for() -> None:
    """An address for IPv4 and a global one reach other subnets, a link-local one does not."""
    gids = [Gid(index=0, address=a) for a in ("::ffff:192.0.2.35", "2001:db8::1", "fe80::1", "::")]

    expected = [(True, True), (False, True), (False, False), (False, False)]
    assert expected == [(gid.four, gid.routable) for gid in gids]


@given(
    st.dictionaries(
        st.tuples(
            st.sampled_from(["gids", "gid_attrs/types", "gid_attrs/ndevs"]),
            st.text(max_size=3).filter(lambda text: "/" not in text and text not in ("", ".")),
        ),
        st.one_of(st.text(max_size=50), st.just(FOUR)),
        max_size=8,
    )
)
def test_no_tree_makes_the_reader_raise(entries: dict[tuple[str, str], str]) -> None:
    """Whatever stands in the files, a table comes of it that knows its own places."""
    files = Files(texts={f"{PORT}/{kind}/{place}": text for (kind, place), text in entries.items()})

    tables = parse(files).ports
    assert all(table.at(gid.index) is not None for table in tables for gid in table.gids)
