"""What goes to the aggregator beside the findings, and what its answers bring back."""

import asyncio
import json
from pathlib import Path

from agent.daemon.reporting import Reporting
from agent.outbox.reports import About
from agent.outbox.sender import Answer
from agent.settings.load import Report
from aggregator.wire import Asks, JobSettings, Receipt, Way
from tests.agent.daemon.virtual import Said, Still

RECEIPT = Receipt(serving={"gpu-018": ("mlx5_0",)})
ASKS = Asks(peers=("gpu-018",), worked=(Way("mlx5_0", 4.5, 0xFFFF, 12),))


def reporting(folder: Path) -> tuple[Reporting, list[Receipt]]:
    """Return one that asks for gpu-018, and where it puts what it is told."""
    made = Reporting(Still(), Report(aggregator="http://192.0.2.9:9837"), folder, Said())
    told: list[Receipt] = []
    made.ask_of(lambda: ASKS, told.append)
    return made, told


def test_a_receipt_brings_the_peers_word(tmp_path: Path) -> None:
    """A receipt's word of ping servers is handed on; an answer without receipt tells nothing."""
    made, told = reporting(tmp_path)
    made._answered(Answer(result="accepted", paused=False, receipt=RECEIPT))
    made._answered(Answer(result="failed"))

    assert [RECEIPT] == told


def test_a_heartbeat_names_the_peers(tmp_path: Path) -> None:
    """With each heartbeat the node asks for the peers that it pinged last, and tells its ways."""
    made, _ = reporting(tmp_path)
    made._about = About(node="gpu-017", boot_id="b-1", product="gpudiag 0.1.0")

    async def beaten() -> None:
        beating = asyncio.create_task(made._beat())
        await made._spool.wait()
        beating.cancel()

    asyncio.run(beaten())

    assert made._spool._heartbeat is not None
    said = json.loads(made._spool._heartbeat[1])
    assert ("heartbeat", ["gpu-018"], [["mlx5_0", 4.5, 65535, 12]]) == (
        said["kind"],
        said["peers"],
        said["worked"],
    )


def test_nothing_of_jobs_is_told_where_none_may_be(tmp_path: Path) -> None:
    """With `job_text = "none"` no setting of a job leaves the node, not even as a digest."""
    asks = Asks(peers=("gpu-018",), jobs=(JobSettings(job="0" * 16, settings={}),))
    told = []
    for job_text in ("none", "masked"):
        settings = Report(aggregator="http://192.0.2.9:9837", job_text=job_text)
        made = Reporting(Still(), settings, tmp_path / job_text, Said())
        made.ask_of(lambda: asks, lambda _: None)
        told.append((made._allowed().peers, made._allowed().jobs))

    assert [(asks.peers, ()), (asks.peers, asks.jobs)] == told
