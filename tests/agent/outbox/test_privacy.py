"""What is masked in text that a job may have written, and what stays readable."""

import json
import random
import string
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.outbox import privacy
from agent.outbox.privacy import JobText, masked

ALPHABET = string.ascii_letters + string.digits


def word(seed: int, length: int, alphabet: str = ALPHABET) -> str:
    """Return letters and digits without pattern; both kinds are in it."""
    chance = random.Random(seed)  # noqa: S311 - repeatable, and no secret of anybody
    return "a1" + "".join(chance.choices(alphabet, k=length))


def planted(kind: str, seed: int) -> tuple[str, str]:
    """Return a text as programs write it, and the part of it that must not leave the node."""
    secret = word(seed, 38)
    short = word(seed, 8, string.ascii_lowercase)
    return {
        "environment": (f"WANDB_API_KEY={short}", short),
        "argument": (f"python train.py --hub-token {short} --lr 3e-4", short),
        "json": (json.dumps({"db_password": f"{short} {short}", "lr": 1}), short),
        "escaped json": (json.dumps(json.dumps({"aws_secret": f"x {short}"})), short),
        "header": (f"> Authorization: Basic {short}", short),
        "bearer": (f"sent bearer {secret}", secret),
        "token": (f"login with hf_{secret} failed", secret),
        "bare": (f"using {secret}.", secret),
        "hex": (f"key {word(seed, 38, '0123456789abcdef')}", word(seed, 38, "0123456789abcdef")),
        "base64": (f"read {short}/{secret}+{short}==", secret),
        "key file": (f"-----BEGIN RSA PRIVATE KEY-----\n{short}\n{secret}\n", secret),
        "mail": (f"mail to {short}@example.org: failed", short),
        "login": (f"ssh: {short}@login-2", short),
        "url": (f"GET https://u:{short}@example.org/v1?x=1 failed", short),
        "bucket": (f"cannot read s3://{short}/a/b.", short),
        "path": (f'  File "/home/{short}/train.py", line 3, in step', short),
        "path with a space": (f"open('/data/my {short}/x'): no such file", short),
        "escaped path": (f"cannot read /data/my\\ {short}/x", short),
        "relative path": (f"saving checkpoint to runs/{short}/step_100.pt", short),
        "home": (f"config=~/{short}/a.yaml", short),
        "address": (f"connect to 10.{seed % 256}.7.9:29500", f"10.{seed % 256}.7.9"),
        "address 6": (f"[fd42:17::{seed % 4096 + 1:x}]:29500", f"fd42:17::{seed % 4096 + 1:x}"),
        "hardware address": ("peer 9c:6b:00:12:34:56", "9c:6b:00:12:34:56"),
    }[kind]


KINDS = [
    "environment", "argument", "json", "escaped json", "header", "bearer", "token", "bare", "hex",
    "base64", "key file", "mail", "login", "url", "bucket", "path", "path with a space",
    "escaped path", "relative path", "home", "address", "address 6", "hardware address",
]  # fmt: skip
AROUND = ["", "rank 3: ", "[2026-11-30 02:11:09] ", "x=1 ", "(", "\x1b[31m", "E "]


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 2**32), before=st.sampled_from(AROUND), after=st.text(max_size=8))
@example(seed=0, before="", after="")
def test_no_planted_secret_survives(kind: str, seed: int, before: str, after: str) -> None:
    """Whatever stands around it, what is planted is not in the masked text."""
    text, secret = planted(kind, seed)
    assert secret not in masked(f"{before}{text} {after}")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("job_text", ["masked", "none"])
def test_no_planted_secret_leaves_in_a_document(kind: str, job_text: JobText) -> None:
    """Every sentence, argument, piece of evidence and source of a diagnosis is masked."""
    text, secret = planted(kind, 7)
    assert secret not in json.dumps(privacy.document(diagnosis(text), job_text))


def diagnosis(text: str) -> dict[str, Any]:
    """Return a diagnosis that holds *text* wherever text can stand."""
    finding = {
        "id": "f1",
        "fault": "python_exception",
        "severity": "critical",
        "kind": "event",
        "stage": "training",
        "check": "training.log",
        "rule": None,
        "subject": {"kind": "log", "name": text, "node": "gpu-017"},
        "message": text,
        "text": {"key": "python_exception", "args": {"line": text}},
        "evidence": [{"source": text, "text": text, "values": {"lines": [text]}}],
    }
    incident = {
        "id": "i1",
        "root": "f1",
        "subject": {"kind": "log", "name": text},
        "sentence": text,
        "text": {"key": "incident.python_exception", "args": {"line": text}},
        "rejected": [{"fault": "nccl_timeout", "why": text}],
        "next": [{"why": text, "command": f"less {text}"}],
    }
    check = {"check": "training.log", "verdict": "fault", "message": text}
    return {
        "verdict": "fault",
        "stages": [{"name": "training", "verdict": "fault", "checks": [check]}],
        "findings": [finding],
        "incidents": [incident],
        "jobs": [{"job": "88123", "framework": text}],
    }


@pytest.mark.parametrize(
    "text",
    [
        "the driver can no longer reach the GPU at 0000:5d:00.0 (Xid 79), 11 min ago",
        "NVRM: Xid (PCI:0000:5d:00): 79, pid=218734, name=python, GPU has fallen off the bus.",
        "python (pid 218734, rank 11 of job 88123) has slept 675 s, in rwsem_down_read_slowpath",
        "port mlx5_0/1 is down; 7/8 GPUs; 12.5 MiB/s, 21.5 L/min, N/A",
        "libcuda is 580.105.08, VBIOS 96.00.99.00.01, kernel 6.8.0-45-generic",
        "read /proc/218734/stat, /dev/nvidia0, /sys/class/infiniband and /etc/slurm/slurm.conf",
        "at 02:11:09 c10::Error in at::native, ProcessGroupNCCL::WatchdogHeartbeatMonitor",
        "tokens: 4096, num_tokens=1.2e9",
        "see dmesg -T | grep -E 'Xid.*: 79|fallen off'",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    """Sentences about a node, its devices and versions read as before."""
    assert text == masked(text)


def test_names_of_the_nodes_own_things_stay() -> None:
    """A mount point, its server and a serial number are no job's text; a file below it is."""
    finding = {
        "id": "f1",
        "fault": "mount_hung",
        "stage": "processes",
        "check": "storage.mounts",
        "subject": {"kind": "mount", "name": "/data", "serial": "S1652922011803K0A1"},
        "message": "/data (nfs4, nas-2:/export/data) does not answer; /data/runs/x waits",
        "text": {"key": "mount_hung", "args": {"source": "nas-2:/export/data"}},
    }
    shown = privacy.document({"findings": [finding]}, "masked")["findings"][0]
    expected = "/data (nfs4, nas-2:/export/data) does not answer; [path] waits"
    assert (expected, finding["subject"]) == (shown["message"], shown["subject"])


def test_none_leaves_jobs_out() -> None:
    """With `none` sentences about jobs are not there at all; the fault's id still tells."""
    shown = privacy.document(diagnosis("loss is nan"), "none")
    finding = shown["findings"][0]
    for item in (finding, shown["incidents"][0]):
        del item["subject"]  # the log's own name is masked, not left out
    assert (False, "python_exception", privacy.LEFT_OUT, []) == (
        "nan" in json.dumps(shown),
        finding["fault"],
        finding["message"],
        shown["jobs"],
    )


def test_full_changes_nothing() -> None:
    """With `full` the site takes all as it is."""
    whole = diagnosis("/home/alice/train.py")
    assert whole == privacy.document(whole, "full")


@given(st.text(max_size=200))
def test_any_text_can_be_masked(text: str) -> None:
    """No text makes masking fail, and what comes out can be written as UTF-8."""
    shown = privacy.document({"jobs": [text + "\ud800"]}, "masked")
    assert isinstance(json.dumps(shown, ensure_ascii=False).encode(), bytes)
