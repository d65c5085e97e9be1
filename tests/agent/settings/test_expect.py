"""The settings' table [expect]."""

import pytest

from agent.cli.errors import Mistake
from agent.settings.load import parse
from collectors.facts.wanted import Expect


def test_what_a_person_states() -> None:
    """Every key of the table reaches the collectors; what is left out stays open."""
    text = '[expect]\ngpus = 8\nproduct = "H100"\nib_ports = 8\nib_rate_gbps = 400\n'
    expected = Expect(gpus=8, product="H100", ib_ports=8, ib_rate_gbps=400.0)
    assert expected == parse(text, "gpudiag.toml").expect


@pytest.mark.parametrize("line", ["gpu = 8", "gpus = -1", 'product = ""', "ib_rate_gbps = 0"])
def test_a_wrong_key_or_number_is_one_line(line: str) -> None:
    """A misspelt key would otherwise be an expectation that nobody checks."""
    with pytest.raises(Mistake, match=r"gpudiag\.toml: expect\."):
        parse(f"[expect]\n{line}\n", "gpudiag.toml")
