"""Write down what a recorder saw, for tests of recordings."""

import asyncio
from pathlib import Path

from collectors.node.recorded import Recorded
from collectors.node.recorder import Recorder
from collectors.node.recording.scrub import Scrub
from collectors.node.recording.writer import Keep, Place, Recording, meta


def keep(
    recorder: Recorder,
    folder: Path,
    *,
    scrub: Scrub | None = None,
    logs: Keep | None = None,
    node: str = "gpu-017",
) -> Path:
    """Write the recording and return its folder."""
    page = meta(
        recorder.journal,
        node=node,
        boot_id="5f0c2c1e-6a37-4b62-9a57-0d8d9c0f7e11",
        kernel="6.8.0-45-generic",
        taken=recorder.taken,
        product="gpudiag 0.1.0",
        scrubbed=scrub is not None,
    )
    with Place(folder) as place:
        Recording(journal=recorder.journal, meta=page, scrub=scrub, keep=logs).write(place)
    return folder


async def replayed(recorder: Recorder, folder: Path, logs: Keep | None = None) -> Recorded:
    """Write the recording and open it, off the loop as a command does."""
    return await asyncio.to_thread(lambda: Recorded(keep(recorder, folder, logs=logs)))


async def opened(folder: Path) -> Recorded:
    """Open a recording off the loop."""
    return await asyncio.to_thread(Recorded, folder)


def everything(folder: Path) -> str:
    """Return the names and contents of all files of a folder as one text."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return "\n".join(f"{path.relative_to(folder)}\n{path.read_text('utf-8')}" for path in paths)
