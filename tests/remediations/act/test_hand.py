"""The client of the actor's socket: what it leaves behind where the actor is slow."""

import asyncio
from pathlib import Path

import pytest

from collectors.helpers.children.loop import GREETING
from remediations.act import hand
from remediations.act.hand import ActorHand, Objection


async def test_attention_that_comes_late_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who gave up waiting hangs up: the actor would count it as the one who acts."""
    monkeypatch.setattr(hand, "ASK_S", 0.05)
    hung_up = asyncio.Event()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(GREETING)
        await reader.readline()
        await reader.read()
        hung_up.set()
        writer.close()

    path = str(tmp_path / "actor.sock")
    async with await asyncio.start_unix_server(slow, path):
        kept = ActorHand(path).attended()
        another = await kept.__aenter__()
        await kept.__aexit__(None, None, None)
        async with asyncio.timeout(5.0):
            await hung_up.wait()

    assert Objection("the actor gave no answer") == another
