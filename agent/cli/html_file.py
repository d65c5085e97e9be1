"""Write the page of `gpudiag logs --html FILE`: whole, or not at all."""

import os
import tempfile
from pathlib import Path

from agent.cli.errors import Mistake
from agent.render.html import page
from diagnostics.document import Document

MODE = 0o640


def write(document: Document, file: str) -> None:
    """Put the page in place of *file*; raises Mistake where that cannot be done."""
    path = Path(file)
    try:
        number, name = tempfile.mkstemp(prefix=f".{path.name[:60]}.", dir=path.parent)
        with os.fdopen(number, "wb") as handle:
            handle.write(page(document).encode("utf-8", "backslashreplace"))
        Path(name).chmod(MODE)
        Path(name).replace(path)
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        what = f"cannot write {file}: {reason}"
        raise Mistake(what, "name a file in a folder that you may write to") from problem
