"""The imports of a Lustre client, read twice."""

import asyncio
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.wanted import Wanted
from collectors.host import lustre
from collectors.host.lustre import Import, LustreImports
from collectors.node.live import Live
from collectors.node.recorded import Recorded
from tests.recording import write

NAME = "scratch-OST0004-osc-ffff9a0c1b2d8000"
PATH = f"/proc/fs/lustre/osc/{NAME}/import"
MOUNTED = "10.20.0.7@o2ib:/scratch /scratch lustre rw,flock,lazystatfs 0 0\n"
TEXT = """\
import:
    name: scratch-OST0004-osc-ffff9a0c1b2d8000
    target: scratch-OST0004_UUID
    state: {0}
    connect_flags: [ write_grant, server_lock, version, request_portal ]
    import_flags: [ replayable, pingable, connect_tried ]
    connection:
       failover_nids: [ 10.20.0.9@o2ib, 10.20.0.10@o2ib ]
       current_connection: 10.20.0.9@o2ib
       connection_attempts: 4
"""


def test_two_samples(tmp_path: Path) -> None:
    """Target, server and both states stand in the import's own file."""
    folder = write(tmp_path, files={PATH: TEXT.format("CONNECTING"), "/proc/self/mounts": MOUNTED})
    write(tmp_path / "at" / "1", files={PATH: TEXT.format("DISCONN")})
    one = Import(
        target="scratch-OST0004",
        state="DISCONN",
        state_before="CONNECTING",
        server="10.20.0.9@o2ib",
        path=PATH,
    )
    seen = asyncio.run(lustre.collect(Recorded(folder), Wanted(sample_s=1.0)))

    assert LustreImports(mounted=True, imports=(one,), seconds=1.0) == seen


def test_a_mount_whose_imports_root_alone_reads(tmp_path: Path) -> None:
    """A mount without a visible import is told apart from no mount."""
    folder = write(tmp_path, files={"/proc/self/mounts": MOUNTED})

    assert LustreImports(mounted=True) == asyncio.run(lustre.collect(Recorded(folder), Wanted()))


async def test_this_machine() -> None:
    """Here is no Lustre, and nobody waits for it."""
    node = Live()
    seen = await lustre.collect(node, Wanted(sample_s=60.0))
    await node.close()

    assert LustreImports(mounted=False) == seen


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    """Whatever stands there, reading it does not fail, and gives no other field."""
    assert set() == set(lustre.parse(text)) - {"target", "state", "current_connection"}


@given(st.sampled_from(["FULL", "DISCONN", "REPLAY_LOCKS"]))
def test_a_state_comes_back(state: str) -> None:
    """The state is that of the import, not of its history."""
    later = "    state_history:\n     - [ 1796003001, FULL ]\n"

    assert state == lustre.parse(TEXT.format(state) + later)["state"]
