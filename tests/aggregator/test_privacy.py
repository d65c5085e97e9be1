"""Secrets planted in a node's jobs, and where they are then: raw on the node, and nowhere else.

The same way is gone with `job_text = "full"`: there each of them arrives, so that a search that
finds nothing has looked in the right places.
"""

import asyncio
import json
import random
import re
import shutil
import sqlite3
import string
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from subprocess import Popen, run
from typing import Any

import pytest

from agent.cli.record import matching
from agent.cli.run import diagnose, open_node
from agent.outbox import reports
from agent.outbox.folder import Disk
from agent.outbox.privacy import JobText
from agent.outbox.sender import Sender
from agent.outbox.spool import Spool
from agent.settings.load import Settings
from agent.walk.walk import Selection
from aggregator.credentials import make
from aggregator.wire import Report
from collectors.node.recorder import Recorder
from collectors.node.recording.scrub import Scrub
from diagnostics.document import plain
from tests.aggregator.conftest import Box
from tests.aggregator.reports import NOW
from tests.collectors.node.keeping import everything, keep

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

# Each kind is a whole walk of a node, thrice.
pytestmark = pytest.mark.timeout(300)

NODE = Path(__file__).parents[1] / "nodes" / "nan-loss"
LOG, JOB = "logs/train-88123.log", "218740"


def word(seed: int, length: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    """Return letters and digits without pattern; nobody's secret."""
    return "q7" + "".join(random.Random(seed).choices(alphabet, k=length - 2))  # noqa: S311 - repeatable


UPPER, LOWER, HEX = (
    string.ascii_uppercase + string.digits,
    string.ascii_lowercase,
    "0123456789abcdef",
)
TOKENS = {
    "AWS key": f"AKIA{word(1, 16, UPPER).upper()}",
    "AWS secret": word(2, 40),
    "GitHub token": f"ghp_{word(3, 36)}",
    "Hugging Face token": f"hf_{word(4, 34)}",
    "password in a URL": word(5, 14, LOWER),
    "bearer header": word(6, 24),
    "private key": word(7, 64),
    "e-mail": f"{word(8, 8, LOWER)}@mail.{word(9, 8, LOWER)}.example",
    "address": "10.213.47.9",
    "path": word(10, 9, LOWER),
    "W&B key": word(11, 40, HEX),
    "Slack webhook": word(12, 24),
    "cookie": word(13, 20),
    "JWT": f"eyJ{word(14, 20)}.eyJ{word(15, 30)}.{word(16, 43)}",
}
SENTENCES = {
    "AWS key": "the access key {0} is not known",
    "AWS secret": "cannot sign with aws_secret_access_key={0}",
    "GitHub token": "clone with {0} failed",
    "Hugging Face token": "login with {0} failed",
    "password in a URL": "GET https://runner:{0}@registry.example/v2/ failed",
    "bearer header": "server refused Authorization: Bearer {0}",
    "private key": "bad key -----BEGIN OPENSSH PRIVATE KEY----- {0}",
    "e-mail": "no license for {0}",
    "address": "no route to {0}:29500",
    "path": "cannot open /home/{0}/secret-project/data.bin",
    "W&B key": "wandb: WANDB_API_KEY={0} is not valid",
    "Slack webhook": "POST https://hooks.slack.example/services/T01/B02/{0} failed",
    "cookie": "sent Cookie: session={0}; theme=dark",
    "JWT": "token {0} is expired",
}
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. "
FRAME = '[rank3]:   File "/home/{0}/train.py", line 88, in step'
SOURCE = '[rank3]:     step("{0}", rate=3e-4)'


def log_of(kind: str) -> str:
    """Return a job's log that ends in a traceback with the secret in its frames and its error."""
    said = SENTENCES[kind].format(TOKENS[kind])
    frames = [FRAME.format(TOKENS["path"]), SOURCE.format(said)]
    dump = json.dumps({"pg_name": "0", "process_group": [said], "frames": [{"name": said}]})
    lines = ["training ...", "Traceback (most recent call last):", *frames, OOM + said]
    return "\n".join([*lines, f"flight recorder: {dump}", "loss: nan", ""])


def planted(folder: Path, kind: str) -> Path:
    """Return a copy of a recorded node whose job has the secret in log and environment."""
    node = folder / kind.replace(" ", "-").replace("&", "n")
    shutil.copytree(NODE, node, symlinks=True)
    (node / LOG).write_text(log_of(kind))
    for path in (node / "answers" / "environ").iterdir():
        asked = json.loads(path.read_text())
        for found in asked["answer"].values():
            found |= {"MY_TOKEN": TOKENS[kind], "NCCL_DEBUG_FILE": f"/home/{TOKENS[kind]}/n.log"}
        path.write_text(json.dumps(asked))
    return node


def walked(node: Path) -> dict[str, Any]:
    """Return the diagnosis of a recorded node."""
    opened, settings, logs = open_node(str(node), None, Settings(), ())
    found = asyncio.run(diagnose(opened, settings, Selection(), logs, strict=False))
    document: dict[str, Any] = plain(found)
    return document


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Plant each kind in a node of its own."""
    folder = tmp_path_factory.mktemp("planted")
    return {kind: planted(folder, kind) for kind in TOKENS}


@pytest.fixture(scope="module")
def diagnoses(nodes: dict[str, Path]) -> dict[str, dict[str, Any]]:
    """Walk each of them once."""
    return {kind: walked(node) for kind, node in nodes.items()}


def found_in(text: str) -> list[str]:
    """Return which kinds stand in *text*; escapes of JSON hide none."""
    return [kind for kind, secret in TOKENS.items() if secret in text]


def test_the_node_itself_knows(diagnoses: dict[str, dict[str, Any]]) -> None:
    """On the node the diagnosis quotes its source whole: the search can find every kind."""
    texts = {kind: json.dumps(document) for kind, document in diagnoses.items()}
    assert list(TOKENS) == [kind for kind, text in texts.items() if TOKENS[kind] in text]


@pytest.mark.parametrize("logs", [None, matching], ids=["default", "with-logs"])
def test_recordings(nodes: dict[str, Path], tmp_path: Path, logs: Any) -> None:
    """A recording of such a node, also one that keeps the matching lines, holds none of them."""
    written = []
    for number, node in enumerate(nodes.values()):
        opened, settings, names = open_node(str(node), None, Settings(), ())
        recorder = Recorder(opened)
        asyncio.run(diagnose(recorder, settings, Selection(), names, strict=False))
        folder = keep(recorder, tmp_path / str(number), scrub=Scrub(), logs=logs)
        written.append(everything(folder))
    whole = "\n".join(written)
    assert (logs is not None, []) == ("OutOfMemoryError" in whole, found_in(whole))


def test_a_recording_of_this_machine(tmp_path: Path) -> None:
    """A live process with secrets in its arguments and its environment leaves none of them."""
    log = tmp_path / "train.log"
    log.write_text("".join(log_of(kind) for kind in TOKENS))
    argv = [sys.executable, "-c", "import time; time.sleep(60)", *TOKENS.values()]
    environment = {re.sub(r"\W", "_", kind).upper(): text for kind, text in TOKENS.items()}
    folder = tmp_path / "kept"
    with Popen(argv, env=environment) as process:
        command = [sys.executable, "-I", "-m", "agent", "record", str(folder), "--with-logs"]
        done = run([*command, "--log", str(log)], capture_output=True, text=True, check=False)
        process.kill()
    assert (0, []) == (done.returncode, found_in(everything(folder) + done.stdout)), done.stderr


def told(diagnoses: dict[str, dict[str, Any]], job_text: JobText) -> Iterator[Report]:
    """Yield what an agent sends: for each walk what changed, and the whole."""
    about = reports.About(node="gpu-017", boot_id="b-1", product="gpudiag 0.1.0", machine="m-1")
    for document in diagnoses.values():
        changes = reports.compare({}, document, "gpu-017")
        changed = reports.change(about, document, changes, NOW, job_text)
        assert changed is not None
        yield changed
        yield reports.snapshot(about, document, NOW, job_text)


async def delivered(box: Box, spool: Spool, count: int) -> None:
    """Send what is in the spool to the aggregator, as the agent does."""
    token, text = make("node", "gpu-017", box.now, 86_400, node="gpu-017")
    await box.store.put_token(token)
    url = f"http://127.0.0.1:{box.port}"
    sender = Sender(spool, url=url, credential=lambda: text)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        task = group.create_task(sender.run())
        kept = 0
        while kept < count:
            await asyncio.sleep(0.05)
            kept = len((await box.store.history("gpu-017", 2**62, 1000)).items)
        task.cancel()


def bytes_of(folder: Path) -> str:
    """Return all that lies in the files of a folder."""
    return "\n".join(
        p.read_bytes().decode("utf-8", "replace") for p in folder.rglob("*") if p.is_file()
    )


def unpacked(database: Path) -> str:
    """Return every value of every table, bodies decompressed, and the bytes of the files."""
    texts = [bytes_of(database.parent)]
    with closing(sqlite3.connect(database)) as connection:
        tables = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
        ).fetchall()
        for (table,) in tables:
            for row in connection.execute(f"SELECT * FROM {table}"):  # noqa: S608 - names of its own tables
                texts += [_text(value) for value in row]
    return "\n".join(texts)


def _text(value: object) -> str:
    if not isinstance(value, bytes):
        return str(value)
    with suppress(zstd.ZstdError):
        value = zstd.decompress(value)
    return value.decode("utf-8", "replace")


async def pages(box: Box) -> str:
    """Return what a viewer and Prometheus are shown."""
    viewer = await box.credential("viewer")
    paths = ("/v1/nodes", "/v1/nodes/gpu-017", "/v1/nodes/gpu-017/history?limit=200")
    texts = []
    for path in (*paths, "/v1/enrollments", "/metrics", "/openapi.json"):
        async with box.client.get(path, headers=viewer) as answer:
            texts.append(await answer.text())
            assert answer.status == 200
    return "\n".join(texts)


@pytest.mark.parametrize(
    ("job_text", "expected"), [("masked", []), ("none", []), ("full", list(TOKENS))]
)
async def test_reports(
    box: Box,
    tmp_path: Path,
    diagnoses: dict[str, dict[str, Any]],
    job_text: JobText,
    expected: list[str],
) -> None:
    """Spool, database and pages hold what the settings let leave the node: by default none."""
    box.aggregator.bounds = box.aggregator.bounds.__class__()
    spool = Spool(Disk(tmp_path / "spool"))
    await spool.start()
    sent = list(told(diagnoses, job_text))
    assert all(await asyncio.gather(*(spool.put(report) for report in sent)))
    spooled = await asyncio.to_thread(bytes_of, tmp_path / "spool")
    await delivered(box, spool, len(sent))
    await spool.close()
    shown = await pages(box)
    kept = await asyncio.to_thread(unpacked, tmp_path / "gpudiag.db")
    assert (True, True, True) == tuple("cuda_oom" in t for t in (spooled, shown, kept))
    assert [expected] * 3 == [found_in(text) for text in (spooled, shown, kept)]
