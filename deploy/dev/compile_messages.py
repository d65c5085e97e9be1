"""Compile the catalogues of translations: `*.po` are people's, `*.mo` are what gettext reads.

It is hatch's hook at each build, and `python deploy/dev/compile_messages.py` after an edit.
"""

from pathlib import Path
from typing import Any

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path("diagnostics/messages")
ROOT = Path(__file__).resolve().parents[2]


def compile_all(root: Path) -> list[Path]:
    """Write the `.mo` beside each `.po` below *root*, and return what was written."""
    written = []
    for source in sorted((root / FOLDER).glob("*/*.po")):
        with source.open("rb") as text:
            catalogue = read_po(text, abort_invalid=True)
        target = source.with_suffix(".mo")
        with target.open("wb") as out:
            write_mo(out, catalogue)
        written.append(target)
    return written


class Messages(BuildHookInterface[Any]):
    """Compiles before a wheel is packed or an editable installation is made."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile; git ignores what is compiled, so that it is named as part of the build."""
        del version
        compile_all(Path(self.root))
        build_data["artifacts"].append(f"/{FOLDER}/*/*.mo")


if __name__ == "__main__":
    compile_all(ROOT)
