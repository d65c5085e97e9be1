"""The BMC's checks where the BMC itself is odd: codes that are no answer, and sudden silence."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import DEVNULL, STDOUT, Popen
from typing import Any, Self

import pytest

from collectors.helpers.children import bmc as verbs
from collectors.helpers.children import tools
from collectors.helpers.children.loop import Refused
from tests.collectors.bmc.test_children import full
from tests.lab.infiniband.fabric import end, until
from tests.lab.ipmi.bmc import Bmc
from tests.lab.ipmi.odd import Told
from tests.lab.ipmi.test_walk import judged, told

pytestmark = [pytest.mark.tool("ipmitool"), pytest.mark.root]
Answers = dict[str, tuple[int, str]]
PROGRAM = Path(__file__).with_name("odd.py")
CHECKS = ("bmc.answers", "bmc.inlet", "bmc.events")
WELL = {
    "bmc.answers": ("ok", "the BMC answers, firmware 9.08"),
    "bmc.inlet": ("ok", "inlet air at 24 C"),
    "bmc.events": ("ok", "no entry of the last 24 h in the event log, none of harm"),
}


class Odd(Bmc):
    """A BMC that answers as it is told."""

    def __init__(self, folder: Path, what: Told) -> None:
        super().__init__(folder)
        self.what = json.dumps(what)

    def __enter__(self) -> Self:
        self.tool = self.wrapper("ipmitool")
        with ExitStack() as on_failure:
            on_failure.push(self._stack)
            self.start()
            on_failure.pop_all()
        return self

    def start(self) -> None:
        argv = [sys.executable, str(PROGRAM), str(self.port), self.what]
        with (self.folder / "odd.out").open("wb") as out:
            self.started = Popen(argv, stdin=DEVNULL, stdout=out, stderr=STDOUT)
        self._stack.callback(end, self.started)
        # The reservation of the list of sensors, which no test here makes odd.
        until("the BMC", lambda: self.asked("raw", "0x0a", "0x22"))


@contextmanager
def odd(folder: Path, answers: Answers, hush: str | None = None) -> Iterator[str]:
    """Run a BMC that answers so, and falls silent at *hush*; give the ipmitool that leads there."""
    with Odd(folder, Told(full().hex(), answers, hush)) as running:
        yield running.tool


@pytest.mark.usefixtures("kept")
async def test_a_well_one(tmp_path: Path) -> None:
    """With no odd answer all is well, so that what follows comes of the odd ones."""
    with odd(tmp_path, {}) as tool:
        assert WELL == told(await judged(tool, *CHECKS))


NOBODY = "the BMC does not identify itself"
UNTOLD = "the BMC does not tell of its event log"
UNLISTED, CODE_FF = "the BMC does not give its list of sensors", "Unspecified error"
# The first and the last entry are given, and what is asked for by its id is not.
FIRST, LAST = "0a4300000000", "0a430000ffff"
REST = "028000000020000407096f01ffff"
ODD: list[tuple[Answers, dict[str, tuple[str, str]]]] = [
    *(
        (
            {"0601": answer},
            {
                "bmc.answers": ("warning", f"the BMC does not answer in band: {NOBODY}"),
                "bmc.inlet": ("unknown", f"failed: {NOBODY}"),
                "bmc.events": ("unknown", f"failed: {NOBODY}"),
            },
        )
        for answer in ((0xCE, ""), (0, "2001"))
    ),
    (
        {"0a40": (0, "5103000010010000000100000002"), "0a43": (0xFF, "")},
        {
            "bmc.events": (
                "unknown",
                "failed: the BMC does not give the entries of its event log",
            )
        },
    ),
    (
        {
            "0a40": (0, "5103000010010000000100000002"),
            "0a43": (0xFF, ""),
            FIRST: (0, f"02000100{REST}"),
            LAST: (0, f"ffff0300{REST}"),
        },
        {"bmc.events": ("unknown", "failed: the BMC declined 3 entries of its event log")},
    ),
    # What the chassis status would add is not judged by these.
    ({"0001": (0xFF, "")}, {}),
    *(
        ({"042d21": answer}, {"bmc.inlet": ("unknown", f"failed: Inlet Temp: {why}")})
        for answer, why in (
            ((0xC0, ""), "the BMC is busy"),
            ((0xD5, ""), "it cannot be read in its present state"),
            ((0x7E, ""), "the BMC declined with code 0x7e"),
            ((0, "18"), "the BMC's answer is cut short"),
        )
    ),
    (
        {"0a23": (0xFF, "")},
        {"bmc.inlet": ("unknown", f"failed: {UNLISTED}: Get SDR 0000 command failed: {CODE_FF}")},
    ),
    ({"0a40": (0xC1, "")}, {"bmc.events": ("unknown", f"failed: {UNTOLD}")}),
    ({"0a40": (0, "5103")}, {"bmc.events": ("unknown", f"failed: {UNTOLD}")}),
]


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize(("answers", "differs"), ODD, ids=[str(answers) for answers, _ in ODD])
async def test_odd_answers(
    tmp_path: Path, answers: Answers, differs: dict[str, tuple[str, str]]
) -> None:
    """A code that is no answer makes its own check unknown, with the reason, and no other."""
    with odd(tmp_path, answers) as tool:
        assert WELL | differs == told(await judged(tool, *CHECKS))


@pytest.mark.usefixtures("kept")
async def test_no_repository(tmp_path: Path) -> None:
    """A BMC that knows no list of sensors leaves them unknown; its event log is read."""
    with odd(tmp_path, {"0a20": (0xC1, "")}) as tool:
        got = await judged(tool, *CHECKS)

    expected = {"bmc.answers": "ok", "bmc.inlet": "unknown", "bmc.events": "ok"}
    assert expected == {name: result.verdict for name, result in got.items()}


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize(
    ("answers", "hush", "verb"),
    [
        ({}, "042d", verbs.bmc_sensors),
        ({}, "0a23", verbs.bmc_sensors),
        # IPMI 2.0, 33.12: a reservation that is lost each time makes ipmitool begin again.
        ({"0a23": (0xC5, "")}, None, verbs.bmc_sensors),
        ({}, "0a43", verbs.bmc_sel),
    ],
)
def test_silent_midway(
    *,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answers: Answers,
    hush: str | None,
    verb: Callable[[], Any],
) -> None:
    """A BMC that says who it is and then nothing is left at the deadline, whatever was asked."""
    monkeypatch.setattr(verbs, "ASK_S", 1.0)
    monkeypatch.setattr(verbs, "DUMP_S", 1.0)
    monkeypatch.setattr(verbs, "_lists", {})
    with odd(tmp_path, answers, hush) as tool:
        monkeypatch.setattr(tools, "given", {"ipmitool": tool})
        began = time.monotonic()
        with pytest.raises(Refused) as no:
            verb()
        took = time.monotonic() - began

    assert ("timeout", "ipmitool did not end in 1 s") == (no.value.cause, no.value.detail)
    assert took < 5.0


@pytest.mark.usefixtures("kept")
async def test_silent_midway_of_a_walk(tmp_path: Path) -> None:
    """What was read before the silence stands; what was not is unknown, and no fault."""
    silent = ("unknown", "no answer in time: ipmitool did not end in 10 s")
    with odd(tmp_path, {}, hush="0a43") as tool:
        assert WELL | {"bmc.events": silent} == told(await judged(tool, *CHECKS))
