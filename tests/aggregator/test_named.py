"""The server is called by its own name, so that no agent takes its node away."""

from pathlib import Path

from aggregator.cli import NAME
from tests.aggregator.test_crash import free_port
from tests.aggregator.test_tls import served


def test_the_kernel_calls_it_by_its_name(tmp_path: Path) -> None:
    """Its process is no `python` among others."""
    with served(tmp_path, free_port(), "") as process:
        name = Path(f"/proc/{process.pid}/comm").read_text().strip()

    assert NAME == name
