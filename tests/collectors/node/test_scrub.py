"""A scrubbed recording names nobody: no host, address, serial number or user of the site."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.node.recorded import Recorded
from collectors.node.recorder import Recorder
from collectors.node.recording.scrub import Scrub
from tests.collectors.node.keeping import everything, keep
from tests.recording import write

HOST, DOMAIN, USER = "gpu-0417", "train.example.net", "mtremblay"
SERIAL = "S6XQNA0W712345"
SECRETS = {
    "host": HOST,
    "peer": "gpu-0418",
    "domain": DOMAIN,
    "user": USER,
    "address": "10.44.7.19",
    "address6": "fd42:17:a::3c",
    "mac": "9c:6b:00:4d:12:ae",
    "uuid": "3f1c9a52-77d0-4e0b-9a57-5d8d9c0f7e11",
    "guid": "0x506b4b0300cf1a34",
    "gid": "506b:4b03:00cf:1a35",
    "serial": SERIAL,
    "token": "hf_abcdefGHIJKL0123456789",
}
# Behind what a secret may stand, and still must be found.
BEFORE = ["", " ", "\n", "\t", '"', "'", "=", ",", "(", "[", "/", "\x1b[31m", "\\x0a", "\\040", "@"]
AFTER = ["", " ", "\n", '"', ",", ")", "]", "/", "\x1b[0m", ";"]


def scrub() -> Scrub:
    """Return a scrub that knows what `gpudiag record` always knows: this host, and its users."""
    made = Scrub()
    made.learn_names([f"{HOST}.{DOMAIN}"], [USER])
    made.learn("/sys/class/nvme/nvme0/serial", f"{SERIAL}\n")
    return made


def scrubbed(text: str) -> str:
    """Return one text as a recording would hold it."""
    made = scrub()
    made.close()
    return made.text(text)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"{HOST} and gpu-0418", "node-1 and node-2"),
        (f"{HOST}.{DOMAIN}:8080", "node-1:8080"),
        (f"/home/{USER}/run.py of {USER}", "/home/user1/run.py of user1"),
        ("/home/other/x", "/home/user1/x"),
        ("10.44.7.19 10.44.7.20 10.44.7.19", "192.0.2.1 192.0.2.2 192.0.2.1"),
        ("127.0.0.1 0.0.0.0 255.255.255.0 ::1 ff02::1", None),
        ("fd42::9", "2001:db8::1"),
        ("::ffff:10.44.7.19", "::ffff:192.0.2.1"),
        ("fe80::9e6b:ff:fe4d:12ae%eth0", "fe80::200:5e00:0:1%eth0"),
        ("fe80:0000:0000:0000:506b:4b03:00cf:1a34", "fe80:0000:0000:0000:0200:5e00:0000:0001"),
        ("506b:4b03:00cf:1a34 0x506b4b0300cf1a34", "0200:5e00:0000:0001 0x02005e0000000001"),
        ("9c:6b:00:4d:12:ae", "02:00:5e:00:00:01"),
        ("enx9c6b004d12ae", "enx02005e000001"),
        (
            "GPU-3f1c9a52-77d0-4e0b-9a57-5d8d9c0f7e11",
            "GPU-00000000-0000-4000-8000-000000000001",
        ),
        (f"nvme-SAMSUNG_{SERIAL}-part1", "nvme-SAMSUNG_A0AAAA0A000001-part1"),
        ("WANDB_API_KEY=0a1b2c3d", "WANDB_API_KEY=removed"),
        ("tokens: 4096 | token_rate=1.5e3", None),
        ("user@1000.service user-1000.slice", None),
        ("NVRM: Xid (PCI:0000:4e:00): 79, pid=4242", None),
        ("0000:4e:00.0 12:34:56 580.65.06 96.00.74.00.1A 28.39.1002", None),
        ("0x00000c0000000000 0x00000c1fffffffff ffff9a3b4c5d6e7f 1234567890123456", None),
        ("00007fcc12ab45ef", None),
        ("std::string at::native c10::Error", None),
        ("rtt min/avg/max/mdev = 0.094/0.101/0.113/0.008 ms", None),
        ("lid 0x4 sm_lid 17 4: ACTIVE 400 Gb/sec (4X NDR)", None),
    ],
)
def test_form(text: str, clean: str | None) -> None:
    """A stand-in has the shape of what it stands for; what names nothing stays as it is."""
    assert scrubbed(text) == (text if clean is None else clean)


def test_json_keeps_its_shape() -> None:
    """Keys that say what they hold are believed; numbers stay numbers, command lines are cut."""
    made = scrub()
    answer = {
        "serial_number": "PHAX1234007",
        "wwn": {"naa": 5, "oui": 3152, "id": 12345678901},
        "argv": ["smartctl", "--json", "/dev/nvme0"],
        "cmdline": "python train.py --key=x",
        "environ": {"NCCL_DEBUG": "INFO", "AWS_SECRET": "x", "MASTER_ADDR": "trainer-a"},
        "note": "trainer-a said PHAX1234007",
    }
    made.learn_value(answer)
    made.close()
    assert made.value(answer) == {
        "serial_number": "AAAA0000001",
        "wwn": {"naa": 5, "oui": 3152, "id": 10000000002},
        "argv": ["smartctl"],
        "cmdline": "python",
        "environ": {"NCCL_DEBUG": "INFO", "MASTER_ADDR": "node-1"},
        "note": "node-1 said AAAA0000001",
    }


def test_programs_lines_are_left_out_of_the_kernel_log() -> None:
    """Whoever may write /dev/kmsg may write anything; the kernel's own lines stay, scrubbed."""
    made = scrub()
    made.close()
    lines = [
        "6,1,100,-;nfs: server 10.44.7.19 not responding",
        " DEVICE=+pci:0000:4e:00.0",
        "14,2,200,-;my password is swordfish",
        " KEY=also mine",
    ]
    assert made.kmsg(lines) == [
        "6,1,100,-;nfs: server 192.0.2.1 not responding",
        " DEVICE=+pci:0000:4e:00.0",
        "14,2,200,-;(written by a program, left out)",
    ]


def test_environments_and_command_lines_in_files() -> None:
    """Should /proc/PID/environ ever be read, only the allow-list of it is written."""
    made = scrub()
    made.close()
    environ = made.file("/proc/7/environ", "RANK=3\\x00AWS_KEY=abc\\x00NCCL_DEBUG=INFO")
    cmdline = made.file("/proc/7/cmdline", "python\0train.py\0--password=x")
    assert (environ, cmdline) == ("RANK=3\0NCCL_DEBUG=INFO", "python")


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "text", ["a." * 20_000, "1:" * 20_000 + "g", "A" * 40_000 + "=", "aa-" * 15_000, "0x" * 20_000]
)
def test_hostile_text_costs_no_more_than_its_length(text: str) -> None:
    """40 kB of the worst text are done in a moment, to their end."""
    assert scrubbed(text)[-1] == text[-1]


def escaped(text: str) -> str:
    """Spell *text* in JSON's longest form, each character an escape."""
    return "".join(f"\\u{ord(c):04x}" for c in text)


PIECE = st.tuples(
    st.sampled_from(sorted(SECRETS.values())), st.sampled_from(BEFORE), st.sampled_from(AFTER)
)


@given(
    pieces=st.lists(PIECE, min_size=1, max_size=4),
    noise=st.text(alphabet=" :;\n", min_size=1, max_size=3),
)
def test_no_secret_survives(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[tuple[str, str, str]], noise: str
) -> None:
    """Wherever a secret was planted, neither a name nor the content of any file holds it."""
    folder = tmp_path_factory.mktemp("plant")
    text = noise.join(before + secret + after for secret, before, after in pieces)
    first = pieces[0][0]
    nested = {"a": [{first: text, "n": 1}], "inner": json.dumps({"deep": {"x": text}})}
    spelt = '{"x": "' + escaped(first) + '", "y": "\\/home\\/' + USER + "\\/" + '"}'
    segment = first.replace("/", "")
    parts: dict[str, Any] = {
        "files": {
            "/proc/uptime": text,
            f"/data/{segment}/note": text,
            "/etc/spelt": spelt,
            "/etc/lines": json.dumps({"x": text}) + "\n" + json.dumps([text]),
        },
        "errors": {f"/data/{segment}/denied": "EACCES"},
        "commands": [
            {"argv": ["ping", first], "stdout": json.dumps(nested), "stderr": text},
            {"argv": ["crictl"], "missing": {"cause": "denied", "detail": text, "stuck": text}},
        ],
        "answers": [
            {"kind": "blocked", "args": {"x": first}, "answer": nested},
            {"kind": "mounts", "missing": {"cause": "timeout", "detail": text}},
        ],
        "logs": {"train.log": text},
    }
    source = write(folder / "source", **parts)
    (source / "kmsg.log").write_text(f"6,1,100,-;{' '.join(text.split())}\n")
    recorder = Recorder(Recorded(source))
    ask(recorder, first, segment)
    kept = keep(recorder, folder / "kept", scrub=scrub(), logs=str, node=f"{HOST}.{DOMAIN}")
    written = everything(kept)
    assert [s for s in SECRETS.values() if s in written or s in unescaped(written)] == []


def ask(recorder: Recorder, first: str, segment: str) -> None:
    """Ask everything that the recording above can answer, on a loop of its own."""

    async def all_of_it() -> None:
        await recorder.files("/proc/uptime", "/etc/*", f"/data/{segment}/*")
        await recorder.command("ping", first, deadline_s=1)
        await recorder.command("crictl", deadline_s=1)
        await recorder.ask("blocked", x=first)
        await recorder.ask("mounts")
        await recorder.ask("kernel_log")
        await recorder.log("train.log")

    asyncio.run(all_of_it())


def unescaped(written: str) -> str:
    """Undo JSON's escapes as often as they may be nested."""
    for _ in range(4):
        written = written.replace('\\"', '"').replace("\\/", "/").replace("\\\\", "\\")
    return written


def test_the_replay_of_a_scrubbed_recording_still_joins(tmp_path: Path) -> None:
    """A peer's address in the settings and in the command line is the same stand-in."""
    peer = "10.44.7.19"
    source = write(
        tmp_path / "source",
        files={"/etc/gpudiag/gpudiag.toml": f'[[network.peers]]\naddress = "{peer}"\n'},
        commands=[{"argv": ["ping", "-n", peer], "stdout": f"PING {peer}\n"}],
    )
    recorder = Recorder(Recorded(source))

    async def walk() -> None:
        await recorder.files("/etc/gpudiag/gpudiag.toml")
        await recorder.command("ping", "-n", peer, deadline_s=1)

    asyncio.run(walk())
    folder = keep(recorder, tmp_path / "kept", scrub=scrub())
    settings = (folder / "files/etc/gpudiag/gpudiag.toml").read_text()
    command = json.loads((folder / "commands/ping-1.json").read_text())
    assert (settings, command["argv"], command["stdout"]) == (
        '[[network.peers]]\naddress = "192.0.2.1"\n',
        ["ping", "-n", "192.0.2.1"],
        "PING 192.0.2.1\n",
    )


def test_a_host_called_like_a_folder_renames_none(tmp_path: Path) -> None:
    """What a replay will ask for keeps its words, whatever the host is called."""
    source = write(tmp_path / "source", files={"/proc/sys/vm/overcommit_memory": "0\n"})
    recorder = Recorder(Recorded(source))
    asyncio.run(recorder.files("/proc/sys/vm/overcommit_memory"))
    folder = keep(recorder, tmp_path / "kept", scrub=Scrub(), node="vm")
    kept = [str(p.relative_to(folder)) for p in sorted(folder.rglob("*")) if p.is_file()]
    first = (folder / "meta.toml").read_text().splitlines()[1]
    expected = ["files/proc/sys/vm/overcommit_memory", "meta.toml"]
    assert (kept, first) == (expected, 'node = "node-1"')


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        (
            "5,0,0,-;Linux version 6.8.0-45-generic (anna@forge7) (gcc 13.2) #45 SMP",
            "5,0,0,-;Linux version 6.8.0-45-generic (builder@host) (gcc 13.2) #45 SMP",
        ),
        (
            "6,1,0,-;Command line: BOOT_IMAGE=/vmlinuz root=LABEL=x site.key=abc",
            "6,1,0,-;Command line: (left out)",
        ),
        (
            '5,2,0,-;Unknown kernel command line parameters "site.key=abc", will be passed on',
            "5,2,0,-;Unknown kernel command line parameters (left out)",
        ),
        (
            "6,3,9,-;nvidia 0000:4e:00.0: enabling device",
            "6,3,9,-;nvidia 0000:4e:00.0: enabling device",
        ),
    ],
)
def test_a_kernel_log_tells_nothing_of_its_boot(line: str, kept: str) -> None:
    """Boot arguments can hold anything, and a kernel names who built it: neither is kept."""
    made = scrub()
    made.close()

    assert [kept] == made.kmsg([line])


def test_what_operators_wrote_of_maintenance_stays_here() -> None:
    """Who works on the node, and why, is nothing for a report; that somebody does stays."""
    one = Scrub()
    one.close()
    text = '{"node":"n","until":1.5,"reason":"fans, says \\"Ann\\"","by":"ann"}'

    assert '{"node":"n","until":1.5,"reason":"(left out)","by":"(left out)"}' == one.file(
        "/var/lib/gpudiag/maintenance.json", text
    )
