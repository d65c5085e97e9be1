"""The event loop is watched in every test: product code that blocks it raises BlockingError."""

from collections.abc import Iterator

import pytest
from blockbuster import BlockBuster, BlockBusterFunction

PRODUCT = ["agent", "aggregator", "collectors", "diagnostics", "remediations"]
OPENERS = ("builtins.open", "io.open", "os.open")


def opener(name: str) -> BlockBusterFunction:
    """Return a watch on opening files, which blockbuster itself leaves out."""
    return BlockBusterFunction(
        None,
        name,
        scanned_modules=PRODUCT,
        can_block_functions=[
            # A process is started from the loop by asyncio itself: pipes and /dev/null.
            ("asyncio/base_events.py", {"subprocess_exec"}),
            ("asyncio/unix_events.py", {"_make_subprocess_transport"}),
            # Imports at first use, and source lines of a traceback.
            ("<frozen importlib._bootstrap>", {"_find_and_load"}),
            ("linecache.py", {"updatecache"}),
        ],
    )


@pytest.fixture(autouse=True, scope="session")
def loop_watch() -> Iterator[BlockBuster]:
    """Watch calls that come from the product; a test itself may read and write its files."""
    watch = BlockBuster(scanned_modules=PRODUCT)
    watch.functions |= {name: opener(name) for name in OPENERS}
    watch.activate()
    yield watch
    watch.deactivate()
