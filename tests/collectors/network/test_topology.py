"""The map of a fabric by `ibnetdiscover -p`; the real tool runs in tests/lab/infiniband."""

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.answers import Output
from collectors.network.topology import parse

MAP = """\
CA     6  1 0x506b4b0300a1b2c3 4x NDR - SW     2  5 0x506b4b0300a1c0f2 ( 'gpu-020' - 'leaf' )
SW     2 12 0x506b4b0300a1c0f2 4x SDR                                    'leaf'
SW     2  5 0x506b4b0300a1c0f2 4x NDR - CA     6  1 0x506b4b0300a1b2c3 ( 'leaf' - 'gpu-020' )
SW     2 33 0x506b4b0300a1c0f2 4x NDR - SW    40  7 0x506b4b0300a1d011 ( 'leaf' - 'spine a' )
"""


def told(text: str) -> list[tuple[str, int, str, int, bool]]:
    cables = parse(Output(argv=("ibnetdiscover",), status=0, stdout=text))
    return [(c.switch, c.switch_port, c.to, c.to_port, c.to_switch) for c in cables]


def test_cables_from_the_switches_ends() -> None:
    """Each cable of a switch is listed, ports without one and the hosts' own ends are not."""
    expected = [("leaf", 5, "gpu-020", 1, False), ("leaf", 33, "spine a", 7, True)]
    assert expected == told(MAP)


@given(st.text())
def test_any_output_is_read(text: str) -> None:
    """No output makes the parser raise, and none without a switch gives a cable."""
    assert not told(text) or "SW" in text
