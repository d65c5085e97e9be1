"""The machine's own firmware by DMI."""

import asyncio
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.answers import Files
from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.gpu.firmware import DMI, MOST, NAMES, Bios, collect, parse
from collectors.node.live import Live
from tests.recording import recorded


def test_names_without_their_padding(tmp_path: Path) -> None:
    """Boards pad their names; a name of nothing but blanks is none."""
    files = {
        f"{DMI}/bios_vendor": "American Megatrends Inc.  \n",
        f"{DMI}/bios_version": "2.1.3\n",
        f"{DMI}/bios_date": "06/11/2025\n",
        f"{DMI}/board_name": "   \n",
    }
    expected = Bios(
        bios_vendor="American Megatrends Inc.", bios_version="2.1.3", bios_date="06/11/2025"
    )

    assert expected == asyncio.run(collect(recorded(tmp_path, files=files), Wanted()))


async def test_this_machine_answers() -> None:
    """The real files are read without an error, where there are any."""
    node = Live()
    got = await collect(node, Wanted())
    await node.close()

    assert not isinstance(got, Missing)


@given(st.dictionaries(st.sampled_from(NAMES), st.text(max_size=200)))
def test_any_text_is_bounded(texts: dict[str, str]) -> None:
    """Whatever firmware writes there, a name is one line of at most so many characters."""
    bios = parse(Files(texts={f"{DMI}/{name}": text for name, text in texts.items()}))
    told = [getattr(bios, name) for name in NAMES]

    assert all(t is None or (t and len(t) <= MOST and "\n" not in t) for t in told)
