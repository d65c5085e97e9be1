"""A node whose kernel talks: what it said so far, and what is still there of it."""

import asyncio
from typing import Any

from collectors.facts.answers import Files
from collectors.facts.observation import Missing
from collectors.node.protocol import Identity
from tests.agent.daemon.virtual import Still

LINES = (
    "nvidia 0000:4e:00.0: enabling device (0000 -> 0002)",
    "NVRM: Xid (PCI:0000:4e:00): 79, pid=5123, name=python, GPU has fallen off the bus.",
    "NVRM: Xid (PCI:0000:9b:00): 31, pid=5124, name=python, Ch 0000000a, intr 00000000.",
    "NVRM: The NVIDIA GPU 0000:b3:00.0",
    "NVRM: (PCI ID: 10de:2330) installed in this system has",
    "NVRM: fallen off the bus and is not responding to commands.",
    "NVRM: GPU at PCI:0000:4e:00: GPU-7d3c1a90-0b1e-4c55-8f21-6a0c9d5e4b12",
    "NVRM: GPU Board Serial Number: 1650423900871",
    "EXT4-fs error (device nvme0n1p2): ext4_find_entry:1463: inode #2: comm ls: reading directory",
)


class Talking(Still):
    """A node whose kernel has said `lines` so far, of which the first `gone` are overwritten."""

    # How late the reader hears of a line.
    tick_s = 0.1

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.gone = 0
        self.asked: list[dict[str, int]] = []
        self.sent = 0
        self.boot = "b00t"
        self.source = "kmsg"
        self.uptime = 100.0
        self.clock_s: float | None = None
        self.read: list[tuple[str, ...]] = []

    async def waits(self, after: int, wait_s: int) -> None:
        """Wait for a line, as the reader does."""
        for _ in range(round(wait_s / self.tick_s)):
            if len(self.lines) > after + 1:
                return
            await asyncio.sleep(self.tick_s)

    def monotonic(self) -> float:
        return super().monotonic() if self.clock_s is None else self.clock_s

    async def identity(self) -> Identity:
        await asyncio.sleep(0)
        return Identity(node="gpu-017", boot_id=self.boot, kernel=None)

    async def files(self, *patterns: str, **_: Any) -> Files | Missing:
        self.read.append(patterns)
        texts = {"/proc/uptime": f"{self.uptime:.2f} 1.00\n", "/proc/stat": "btime 1796000000\n"}
        return Files(texts=texts, errors={})

    async def ask(self, kind: str, /, *, deadline_s: float = 5.0, **args: Any) -> Any:
        del deadline_s
        assert kind == "kernel_log"
        self.asked.append(args)
        after, most = args.get("after", -1), args.get("most", 20_000)
        await self.waits(after, args.get("wait_s", 0))
        there = [n for n in range(self.gone, len(self.lines)) if n > after]
        lost = max(self.gone - after - 1, 0) if after >= 0 else 0
        some = there[:most]
        self.sent += len(some)
        lines = [f"3,{n},{1_000_000 + n * 10},-;{self.lines[n]}" for n in some]
        last = some[-1] if some else after
        return {"lines": lines, "lost": lost, "source": self.source, "last": last}
