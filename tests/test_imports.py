"""Which third-party modules each command imports: every node pays for them at each start."""

import json
import sys
import sysconfig
from pathlib import Path
from subprocess import run

import pytest

# The command as installed, in a process of its own; at its end the names of what it imported.
WATCHED = """
import atexit, json, sys
from pathlib import Path
out = Path(sys.argv.pop(1))
site = tuple(json.loads(sys.argv.pop(1)))
before = set(sys.modules)
def tell():
    new = {name.partition(".")[0] for name in set(sys.modules) - before}
    files = {name: getattr(sys.modules.get(name), "__file__", None) or "" for name in new}
    paths = {name: list(getattr(sys.modules.get(name), "__path__", ())) for name in new}
    third = [n for n in new if files[n].startswith(site) or "".join(paths[n]).startswith(site)]
    asyncio = ["asyncio"] if "asyncio" in new else []
    out.write_text(json.dumps(sorted(set(third) | set(asyncio))))
atexit.register(tell)
from agent.cli.main import main
sys.argv[0] = "gpudiag"
main()
"""
# msgspec imports typing_extensions where it is installed, to resolve annotations of structs.
STRUCTS = {"msgspec", "typing_extensions"}
SITE = json.dumps([sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
HEALTHY = Path(__file__).parent / "nodes" / "h100-idle"


def imported(tmp_path: Path, *arguments: str) -> set[str]:
    """Run one command and return what it imported: third-party modules, and asyncio by name."""
    out = tmp_path / "imported.json"
    argv = [sys.executable, "-I", "-c", WATCHED, str(out), SITE, *arguments]
    ran = run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 0, ran.stderr
    names: list[str] = json.loads(out.read_text())
    return set(names)


@pytest.mark.parametrize("arguments", [("--help",), ("--version",)])
def test_help(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """`--help` imports click and nothing else, so that completion is instant."""
    assert imported(tmp_path, *arguments) == {"click"}


def test_logs(tmp_path: Path) -> None:
    """`logs FILE` reads and matches: no event loop, no settings models, nothing of a node."""
    log = tmp_path / "train.log"
    log.write_text("step 1 loss 2.31\n")
    assert imported(tmp_path, "logs", str(log)) == {"click", "hyperscan"} | STRUCTS


def test_explain(tmp_path: Path) -> None:
    """`explain` shows a page: no event loop and no pattern engine."""
    assert imported(tmp_path, "explain", "gpu_lost") == {"click"} | STRUCTS


def test_replay(tmp_path: Path) -> None:
    """`run --replay` walks a recording: no HTTP, no daemon log, no binding to this machine.

    Settings are people's text, and this recording holds some: pydantic reads them. The kernel log
    is searched by rules.
    """
    settings = {"annotated_types", "pydantic", "pydantic_core", "typing_inspection"}
    expected = {"asyncio", "click", "hyperscan"} | STRUCTS | settings
    assert imported(tmp_path, "run", "--replay", str(HEALTHY)) == expected
