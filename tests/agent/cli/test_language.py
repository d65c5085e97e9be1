"""`--lang` and the locale: who gets Chinese, what it costs the others, and that JSON has none."""

import os
import sys
from pathlib import Path
from subprocess import CompletedProcess, run

import pytest

NODE = Path(__file__).parents[2] / "nodes" / "h100-gpu-lost"
# As the command does it; the last line says which of our modules and catalogues came with it.
WATCHED = """
import atexit, sys
def tell():
    names = ("diagnostics.messages.catalogue", "diagnostics.messages.template")
    sys.stderr.write(repr([name for name in names if name in sys.modules]))
atexit.register(tell)
from agent.cli.main import main
sys.argv[0] = "gpudiag"
main()
"""
LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG", "TERM")


def ran(*arguments: str, **locale: str) -> CompletedProcess[str]:
    """Run one command in an environment of this locale alone."""
    env = {name: value for name, value in os.environ.items() if name not in LOCALE}
    argv = [sys.executable, "-c", WATCHED, *arguments]
    env |= {"PYTHONIOENCODING": "utf-8", "TERM": "xterm", **locale}
    return run(argv, env=env, capture_output=True, text=True, check=False, timeout=60)


def spoken(done: CompletedProcess[str]) -> str:
    """Return the language of what was drawn."""
    return "zh" if "从 PCIe 总线掉线" in done.stdout else "en"


@pytest.mark.parametrize(
    ("arguments", "locale", "expected"),
    [
        ((), {}, "en"),
        ((), {"LANG": "C.UTF-8"}, "en"),
        ((), {"LANG": "de_DE.UTF-8"}, "en"),
        ((), {"LANG": "zh_CN.UTF-8"}, "zh"),
        ((), {"LANG": "en_US.UTF-8", "LC_ALL": "zh_CN.UTF-8"}, "zh"),
        ((), {"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "en_US.UTF-8"}, "en"),
        ((), {"LANG": "zh_CN.UTF-8", "TERM": "linux"}, "en"),
        ((), {"LANG": "zh_CN.UTF-8", "PYTHONIOENCODING": "ascii"}, "en"),
        (("--lang", "en"), {"LANG": "zh_CN.UTF-8"}, "en"),
        (("--lang", "zh"), {"LANG": "C"}, "zh"),
    ],
)
def test_who_is_told_in_chinese(
    arguments: tuple[str, ...], locale: dict[str, str], expected: str
) -> None:
    """--lang decides, else the first set of LC_ALL, LC_MESSAGES and LANG, where it can be drawn."""
    assert expected == spoken(ran("explain", "gpu_fell_off_bus", *arguments, **locale))


def test_english_pays_nothing() -> None:
    """No catalogue and none of the code that reads it is imported where English is spoken."""
    english = ran("explain", "gpu_lost").stderr
    chinese = ran("explain", "gpu_lost", "--lang", "zh").stderr

    assert ("[]", True) == (english, "diagnostics.messages.catalogue" in chinese)


def test_json_is_the_same_in_every_language() -> None:
    """The document of `run --json` is English byte for byte, whatever the language is."""
    told = [ran("run", "--replay", str(NODE), "--json", "--lang", lang) for lang in ("en", "zh")]

    assert (told[0].stdout, 2) == (told[1].stdout, told[1].returncode)


def test_logs_are_told_in_chinese(tmp_path: Path) -> None:
    """`logs --lang zh` tells what a log says, and `--html` a page in that language."""
    log, page = tmp_path / "train.log", tmp_path / "page.html"
    log.write_text("".join(f"step {n} loss {2.3 if n < 9 else 'nan'}\n" for n in range(20)))
    done = ran("logs", str(log), "--lang", "zh", "--html", str(page))

    assert (2, True, True) == (
        done.returncode,
        "不是有限值" in done.stdout,
        '<html lang="zh">' in page.read_text("utf-8"),
    )


def test_another_language_is_a_mistake() -> None:
    """A language that there is none of is refused with those that there are."""
    done = ran("explain", "gpu_lost", "--lang", "xx")

    assert (64, True) == (done.returncode, "'en', 'zh'" in done.stderr)
