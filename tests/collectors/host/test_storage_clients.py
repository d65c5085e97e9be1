"""What BeeGFS and Ceph clients show of their servers."""

import asyncio
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.wanted import Wanted
from collectors.host import storage_clients
from collectors.host.storage_clients import Session, StorageClients, Target
from collectors.node.live import Live
from collectors.node.recorded import Recorded
from tests.recording import write

STATES = "/proc/fs/beegfs/1B2C-6A0F-gpu017/storage_target_state"
CEPH = "/sys/kernel/debug/ceph/7c1e.client411"
SESSIONS, STATUS = f"{CEPH}/mds_sessions", f"{CEPH}/status"
TARGETS = """\
[Target ID: 301] @ beegfs-storage storage03 [ID: 3]: Online / Good
[Target ID: 302] @ beegfs-storage storage04 [ID: 4]: Probably-offline / Needs-resync
"""
TABLE = """\
beegfs_nodev /scratch beegfs rw,relatime,cfgFile=/etc/beegfs/beegfs-client.conf 0 0
10.20.0.8:6789:/ /home ceph rw,relatime,name=gpu,acl 0 0
"""


def ceph(state: str, blocked: str = "false") -> dict[str, str]:
    """Return the files of one mount, whose session has this state."""
    return {
        SESSIONS: f'global_id 411\nname "gpu"\nmds.0 {state}\n',
        STATUS: f"instance: client.411 (3)10.20.0.17:0/284411\nblocklisted: {blocked}\n",
    }


def test_both_clients(tmp_path: Path) -> None:
    """Targets are read once, sessions twice; a client that was shut out says so itself."""
    files = {STATES: TARGETS, "/proc/self/mounts": TABLE, **ceph("reconnecting", "true")}
    folder = write(tmp_path, files=files)
    write(tmp_path / "at" / "1", files=ceph("open"))
    seen = asyncio.run(storage_clients.collect(Recorded(folder), Wanted(sample_s=1.0)))

    expected = StorageClients(
        mounted=("beegfs", "ceph"),
        targets=(
            Target(
                target=301,
                server="beegfs-storage storage03 [ID: 3]",
                reach="Online",
                state="Good",
                path=STATES,
            ),
            Target(
                target=302,
                server="beegfs-storage storage04 [ID: 4]",
                reach="Probably-offline",
                state="Needs-resync",
                path=STATES,
            ),
        ),
        sessions=(Session(rank=0, state="open", state_before="reconnecting", path=SESSIONS),),
        blocked=(STATUS,),
        seconds=1.0,
    )
    assert expected == seen


async def test_this_machine() -> None:
    """Here is neither, and nobody waits for it."""
    node = Live()
    seen = await storage_clients.collect(node, Wanted(sample_s=60.0))
    await node.close()

    assert StorageClients() == seen


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    """Whatever stands there, reading it does not fail, and finds only what stands there."""
    storage_clients.mounted(text)
    told = [one.server for one in storage_clients.targets("x", text)]
    told += storage_clients.sessions(text).values()

    assert [] == [one for one in told if one not in text]


@given(
    st.integers(0, 65_535),
    st.sampled_from(["Online", "Probably-offline", "Offline"]),
    st.sampled_from(["Good", "Needs-resync", "Bad"]),
)
def test_a_target_comes_back(target: int, reach: str, state: str) -> None:
    """The line holds what the management service said; the kernel module ends it with a space."""
    line = f"[Target ID: {target}] @ beegfs-meta meta01 [ID: 1]: {reach} / {state} \n"
    (one,) = storage_clients.targets("x", line)

    assert (target, "beegfs-meta meta01 [ID: 1]", reach, state) == (
        one.target,
        one.server,
        one.reach,
        one.state,
    )
