"""The watch on the event loop sees the product block, and lets tests and waiting alone."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from blockbuster import BlockingError

import agent

READ = "def read(path):\n    with open(path) as file:\n        return file.read()\n"
LIST = "import os\ndef read(path):\n    return os.listdir(path.parent)\n"
SLEEP = "import time\ndef read(path):\n    time.sleep(0)\n"


def as_product(source: str) -> Callable[[Path], object]:
    """Return read() of *source* as if it stood in a file of the product."""
    module = ModuleType("blocking")
    name = str(Path(agent.__path__[0]) / "blocking.py")
    exec(compile(source, name, "exec"), module.__dict__)  # noqa: S102 - source is written above
    read: Callable[[Path], object] = module.__dict__["read"]
    return read


@pytest.mark.parametrize("source", [READ, LIST, SLEEP])
async def test_blocking_product_code_raises(source: str, tmp_path: Path) -> None:
    """A file, a folder or a sleep in product code on the loop is an error in any test."""
    path = tmp_path / "file"
    path.write_text("text")
    with pytest.raises(BlockingError) as raised:
        as_product(source)(path)
    assert raised.type is BlockingError


def test_product_code_off_the_loop_may_read(tmp_path: Path) -> None:
    """Without a running loop nothing can be blocked: commands that run no loop read files."""
    path = tmp_path / "file"
    path.write_text("text")
    assert as_product(READ)(path) == "text"


async def test_a_test_may_read_its_own_files(tmp_path: Path) -> None:
    """The test's own code on the loop is not watched, so that tests can set their scene."""
    path = tmp_path / "file"
    path.write_text("text")
    assert path.read_text() == "text"


async def test_product_code_may_start_processes(tmp_path: Path) -> None:
    """Starting a process opens pipes and /dev/null on the loop; asyncio owns that, it passes."""
    source = (
        "import asyncio\n"
        "def read(path):\n"
        "    end = asyncio.subprocess.DEVNULL\n"
        "    return asyncio.create_subprocess_exec('/bin/true', cwd=path, stdin=end, stdout=end)\n"
    )
    starting = as_product(source)(tmp_path)
    assert asyncio.iscoroutine(starting)
    process = await starting
    assert await process.wait() == 0
