"""One log is not named in each sentence; several are."""

from pathlib import Path

import pytest

from agent.cli.log_files import diagnose
from agent.render.lines import plain
from agent.render.table import draw

NAN = "".join(f"step: {n} loss: 2.1\n" for n in range(30)) + "step: 30 loss: nan\n"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a.log"], "The loss is not finite from step 30 on"),
        (["a.log", "b.log"], "a.log: the loss is not finite from step 30 on"),
    ],
)
def test_name(names: list[str], expected: str, tmp_path: Path) -> None:
    """The sentence begins with the log's name only where there is another one."""
    files = [tmp_path / name for name in names]
    for file in files:
        file.write_text(NAN)
    document = diagnose([str(file) for file in files])
    text = plain(draw(document, width=200, ascii_only=True, everything=False))
    assert expected in " ".join(text.split())
    assert (len(files) > 1) == (f"{files[0]}: " in text)
