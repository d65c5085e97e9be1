"""The verb `links`: kept descriptors on a tree that changes, and a real link that goes down."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.helpers.children.links import FILES, Watch
from collectors.helpers.children.netlink import ATTRIBUTE, HEADER, LINK, attributes, link, messages

ACTIVE = {"state": "4: ACTIVE\n", "phys_state": "5: LinkUp\n", "rate": "400 Gb/sec (4X NDR)\n"}
DOWN = {"state": "1: DOWN\n", "phys_state": "2: Polling\n", "rate": "10 Gb/sec (4X SDR)\n"}
CLASS = "sys/class/infiniband"


def put(root: Path, device: str, texts: dict[str, str]) -> None:
    """Write a port's files, in place where they are there."""
    folder = root / CLASS / device / "ports" / "1"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text)


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Watch]:
    put(tmp_path, "mlx5_0", ACTIVE)
    put(tmp_path, "mlx5_1", ACTIVE)
    one = Watch(str(tmp_path))
    yield one
    one.close()


def test_a_port_that_changes_is_read_through_the_same_descriptor(
    watch: Watch, tmp_path: Path
) -> None:
    """What is written into the files shows at the next look; nothing is opened or listed."""
    before = watch.look()["ports"]
    put(tmp_path, "mlx5_1", DOWN)
    after = watch.look()["ports"]

    assert ([*ACTIVE.values()], [*DOWN.values()], [*ACTIVE.values()], 1) == (
        before["mlx5_1/1"],
        after["mlx5_1/1"],
        after["mlx5_0/1"],
        watch.lists,
    )


def test_a_look_costs_three_reads_a_port(watch: Watch) -> None:
    """At most four are allowed: NCCL's ports are read every second."""
    watch.look()
    first = watch.reads
    watch.look()

    assert (2 * len(FILES), True) == (watch.reads - first, len(FILES) <= 4)


def test_who_waits_is_answered_when_something_changes(watch: Watch, tmp_path: Path) -> None:
    """At first at once, then when a port went down, and without a change after the wait."""
    first = watch.news(60.0)["ports"]["mlx5_1/1"]
    put(tmp_path, "mlx5_1", DOWN)
    second = watch.news(60.0)["ports"]["mlx5_1/1"]
    reads = watch.reads
    watch.news(0.01)

    assert ([*ACTIVE.values()], [*DOWN.values()], True) == (first, second, watch.reads > reads)


def test_a_device_that_went_is_seen_to_be_gone_when_ports_are_listed(
    watch: Watch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A port that is not there any more is in no answer, and its descriptors are closed."""
    watch.look()
    shutil.rmtree(tmp_path / CLASS / "mlx5_1")
    monkeypatch.setattr("collectors.helpers.children.links.LIST_S", 0.0)

    assert ["mlx5_0/1"] == list(watch.look()["ports"])


def test_a_link_that_leads_out_of_the_files_is_not_followed(tmp_path: Path) -> None:
    """Who can write below another root cannot have the reader open a file of this machine."""
    put(tmp_path, "mlx5_0", ACTIVE)
    state = tmp_path / CLASS / "mlx5_0" / "ports" / "1" / "state"
    state.unlink()
    state.symlink_to("/etc/hostname")

    assert {"ports": {}, "interfaces": {}} == Watch(str(tmp_path)).look()


@given(st.binary(max_size=300))
def test_any_bytes_are_read_as_messages(data: bytes) -> None:
    """What the kernel would never send is cut off, and nothing raises."""
    for _, body in messages(data):
        link(body)
    list(attributes(data))

    assert True is all(len(value) <= len(data) for _, value in attributes(data))


def packed(name: str, flags: int, **values: tuple[int, bytes]) -> bytes:
    """Return a link message as the kernel packs it."""
    body = LINK.pack(0, 1, 7, flags, 0)
    told = [(3, name.encode() + b"\0"), *values.values()]
    for kind, value in told:
        text = ATTRIBUTE.pack(ATTRIBUTE.size + len(value), kind) + value
        body += text + b"\0" * (-len(text) % 4)
    return HEADER.pack(HEADER.size + len(body), 16, 0, 0, 0) + body


@given(st.text("abcdefgh0123", min_size=1, max_size=15), st.booleans(), st.integers(0, 1 << 31))
def test_a_message_comes_back_as_it_was_packed(name: str, carrier: bool, downs: int) -> None:  # noqa: FBT001 - drawn
    """Name, carrier and the count of drops stand at any place among the attributes."""
    data = packed(
        name,
        1,
        carrier=(33, bytes([carrier])),
        downs=(48, downs.to_bytes(4, sys.byteorder)),
    )
    ((_, body),) = messages(data)

    assert (7, {"name": name, "up": True, "carrier": carrier, "downs": downs}) == link(body)


LOOK = """
import json, sys, time
from collectors.helpers.children.links import links, watches
for line in sys.stdin:
    end = time.monotonic() + 5.0
    while True:
        seen = links()["interfaces"]
        if seen.get("near", {}).get("carrier") is (line.strip() == "up") or time.monotonic() > end:
            break
        time.sleep(0.05)
    print(json.dumps([seen.get("near"), watches["/"]._interfaces.requests]), flush=True)
"""


@pytest.fixture
def space() -> Iterator[str]:
    """A network namespace with two ends of a cable."""
    name = f"links{os.getpid()}"

    def run(*words: str) -> None:
        subprocess.run(words, check=True, capture_output=True)

    run("ip", "netns", "add", name)
    try:
        run(*("ip", "-n", name, "link", "add", "near", "type", "veth", "peer", "name", "far"))
        run("ip", "-n", name, "link", "set", "near", "up")
        run("ip", "-n", name, "link", "set", "far", "up")
        yield name
    finally:
        run("ip", "netns", "delete", name)


@pytest.mark.root
@pytest.mark.tool("ip")
def test_the_kernel_tells_of_a_link_that_goes_down_and_up(space: str) -> None:
    """Carrier, its loss and its return are told by one socket, which asked for all only once."""
    argv = ("ip", "netns", "exec", space, sys.executable, "-c", LOOK)
    far = ("ip", "-n", space, "link", "set", "far")
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True) as looking:
        assert looking.stdin is not None
        assert looking.stdout is not None
        told = []
        for word in ("up", "down", "up"):
            subprocess.run((*far, word), check=True)
            looking.stdin.write(f"{word}\n")
            looking.stdin.flush()
            told.append(json.loads(looking.stdout.readline()))
        looking.stdin.close()
    carriers = [near["carrier"] for near, _ in told]
    downs = [near["downs"] for near, _ in told]

    assert ([True, False, True], [0, 1, 1], 1) == (
        carriers,
        [count - downs[0] for count in downs],
        told[-1][1],
    )


WAIT = """
import json, sys, time
from collectors.helpers.children.links import links
links()
print("watching", flush=True)
began = time.monotonic()
while seen := links(wait_s=60)["interfaces"]["near"]["carrier"]:
    pass
print(json.dumps([seen, time.monotonic() - began < 30.0]), flush=True)
"""


@pytest.mark.root
@pytest.mark.tool("ip")
def test_who_waits_is_woken_by_the_kernel(space: str) -> None:
    """The answer comes with the carrier's loss, and not with the end of the wait."""
    argv = ("ip", "netns", "exec", space, sys.executable, "-c", WAIT)
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as waiting:
        assert waiting.stdout is not None
        waiting.stdout.readline()
        subprocess.run(("ip", "-n", space, "link", "set", "far", "down"), check=True)
        told = json.loads(waiting.stdout.readline())

    assert [False, True] == told
