"""A connection to a unit: whoever gives up before the greeting leaves nothing open."""

import asyncio
from pathlib import Path

import pytest

from collectors.helpers.link import Connection, Unreachable


@pytest.mark.parametrize(
    ("greeting", "why"),
    [
        pytest.param(None, TimeoutError, id="it never greets"),
        pytest.param(b"{}\n", Unreachable, id="it greets without a word"),
        pytest.param(b"welcome\n", ValueError, id="it speaks no JSON"),
    ],
)
async def test_what_was_not_opened_is_closed(
    tmp_path: Path, greeting: bytes | None, why: type[Exception]
) -> None:
    heard = asyncio.get_running_loop().create_future()

    async def unit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(greeting or b"")
        heard.set_result(await reader.read())
        writer.close()

    path = str(tmp_path / "unit.sock")
    async with await asyncio.start_unix_server(unit, path):
        with pytest.raises(why):
            await asyncio.wait_for(Connection.open(path), 0.5)
        assert b"" == await asyncio.wait_for(heard, 5.0)
