"""The tables of codes are whole, are what their sources make, and are what the rules judge by."""

import pytest

from collectors.facts.kernel_log import KernelLog, Record
from deploy.dev.make_codes import FOLDER, composed, tables
from diagnostics.knowledge.aliases import NAMED_XID, XID
from diagnostics.knowledge.codes.tables import Xid, subs, sxids, words, xids
from diagnostics.rules.kernel import KernelHit, KernelKnowledge, Search, load

KNOWN = KernelKnowledge(load())


def hits(text: str) -> tuple[KernelHit, ...]:
    """Return what the rules find in one line."""
    log = KernelLog(records=(Record(sequence=1, boot_s=1.0, level=3, facility=0, text=text),))
    search = Search(log, KNOWN)
    search.feed(log.records)
    return search.seen().hits


@pytest.mark.parametrize("name", sorted(tables()))
def test_a_table_is_what_its_sources_make(name: str) -> None:
    """Nobody edits a table by hand: python -m deploy.dev.make_codes writes the same text."""
    assert tables()[name] == (FOLDER / name).read_text(encoding="utf-8")


def test_every_published_code_is_there() -> None:
    """177 Xids, 260 SXids, 95 sub-events of NVLink 5, and the register words of Xid 74."""
    assert (177, 260, 95, {1, 3, 4, 5}) == (
        len(xids()),
        len(sxids()),
        sum(len(rows) for rows in subs().values()),
        {word.word for word in words()},
    )


@pytest.mark.parametrize("table", [xids(), sxids()], ids=["xid", "sxid"])
def test_no_two_codes_share_a_name_or_meaning(table: dict[int, Xid]) -> None:
    """What two codes have in common stands in neither: each says what it alone means."""
    rows = table.values()

    assert (len(rows), len(rows)) == (
        len({row.name for row in rows}),
        len({row.meaning for row in rows}),
    )


def test_a_name_says_unit_part_and_failure() -> None:
    """An SXid without words of its own is read from its name, as the driver made it."""
    expected = "the port where packets enter, RIDTAB: an error that ECC could not correct"

    assert expected == composed("NPORT_INGRESS_RIDTAB_ECC_DBE_ERR")


@pytest.mark.parametrize("code", xids())
def test_each_xid_is_one_rules_and_weighs_as_its_table(code: int) -> None:
    """A bare line of any Xid is found once, under the fault of its code, with its number."""
    found = hits(f"NVRM: Xid (PCI:0000:4e:00): {code}, pid=8100, name=python3, text")
    row = xids()[code]
    program = row.severity == "info" and row.recovery == "restart_job"
    # 154 says something only with its text.
    expected = [] if code == 154 else [(code, XID.get(code, f"xid_{code}"), program)]

    assert expected == [
        (hit.values["xid"], hit.fault, hit.note) for hit in found if hit.about == "gpu"
    ]
    assert all(hit.severity == ("warning" if program else row.severity) for hit in found)


def test_a_number_of_tomorrow_is_a_note() -> None:
    """A driver may print what no table has: it is told with its number, and alarms nobody."""
    (hit,) = hits("NVRM: Xid (PCI:0000:4e:00): 4711, something new")

    assert ("xid_4711", "info", 4711) == (hit.fault, hit.severity, hit.values["xid"])


@pytest.mark.parametrize("code", sxids())
@pytest.mark.parametrize("word", ["Fatal", "Non-fatal"])
def test_an_sxid_weighs_by_its_word_and_never_less_than_always_fatal(code: int, word: str) -> None:
    """The line's word decides, but for the codes that end the whole fabric in any case."""
    (hit,) = hits(f"nvidia-nvswitch2: SXid (PCI:0000:07:00.0): {code}, {word}, Link 41 text")
    fatal = word == "Fatal" or sxids()[code].always_fatal
    expected = "nvswitch_sxid_fatal" if fatal else "nvswitch_sxid_nonfatal"

    assert (expected, code, 41, fatal) == (
        hit.fault,
        hit.values["sxid"],
        hit.values["link"],
        hit.severity == "critical",
    )


def test_names_of_faults_are_those_of_known_codes() -> None:
    """What has a name is in the table; no code has two names."""
    codes = [code for codes in NAMED_XID.values() for code in codes]

    assert (len(codes), set()) == (len(set(codes)), set(codes) - set(xids()))
