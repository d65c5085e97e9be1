"""A scenario that is wrong is refused with file, table and key; a right one does as it says."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.gpu.simulator.plan import plan
from collectors.gpu.simulator.scenario import ScenarioError, read

H100 = 'model = "h100-sxm"\n'
WRONG = {
    'model = "h100"': "model: 'h100' is none of a100-sxm4-40, b200, gb200, h100-sxm, h200-sxm, "
    "l40s, rtx-4090, t4",
    "count = 8": "model: Field required",
    H100 + "[gpu.3]\nlst = true": "[gpu.3] lst: unknown key, do you mean lost?",
    H100 + "[gpu.3.temperature]\ngpu = 91": "[gpu.3.temperature] gpu: unknown key, "
    "do you mean gpu_c?",
    H100 + "[gpu.3]\nlost = 1": "[gpu.3] lost: Input should be a valid boolean",
    H100 + "[gpu.3]\nserial = 1": "[gpu.3] serial: Value error, expected text, or "
    '{ hex = "ff3132" } for bytes that are none',
    H100 + "[gpu.3]\nutilization = 101": "[gpu.3] utilization: "
    "Input should be less than or equal to 100",
    H100 + "[gpu.8]\nlost = true": "[gpu.8]: there is no GPU 8 with count = 8",
    H100 + "[gpu.1.call.nvmlDeviceGetHandleByIndex]\nreturns = 999": "[gpu.1.call] "
    "nvmlDeviceGetHandleByIndex: no function simulated here, "
    "do you mean nvmlDeviceGetHandleByIndex_v2?",
    H100 + "[gpu.1.call.nvmlShutdown]\nreturns = 999": "[gpu.1.call.nvmlShutdown]: is of no GPU, "
    "write [call.nvmlShutdown]",
    H100 + "[call.nvmlInitWithFlags]\nreturn = 18": "[call.nvmlInitWithFlags] return: "
    "unknown key, do you mean returns?",
    H100 + "[gpu.1.nvlink.link.18]\nactive = false": "[gpu.1.nvlink.link.18]: the GPU has 18 links",
    H100 + "[[event]]\nat_s = 1\ngpu = 8\nxid = 79": "[event.0] gpu: 8 is not below count = 8",
    H100 + "[[event]]\nat_s = 1\ngpu = 1": "[event] 0: Value error, "
    "give either xid, or type and data",
    H100 + "[[step]]\nat_s = 9\n[[step]]\nat_s = 9": "[step.1] at_s: 9 is not after 9",
    H100 + "[[step]]\nat_s = 9\n[step.gpu.0.clocks]\nreason = 8": "[step.0.gpu.0.clocks] reason: "
    "unknown key, do you mean reasons?",
    H100 + 'missing_symbols = "534"': "missing_symbols: '534' is none of 535",
    H100 + 'missing_symbols = ["nvmlNone"]': "missing_symbols: nvmlNone: "
    "no function simulated here",
    "model =": "Invalid value (at end of document)",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_mistake_is_named(text: str) -> None:
    """The one line says the file, the table, the key, and what was likely meant."""
    with pytest.raises(ScenarioError) as raised:
        read(text, "node.toml")
    assert f"node.toml: {WRONG[text]}" == str(raised.value)


@given(st.text())
def test_any_text_is_a_scenario_or_a_scenario_error(text: str) -> None:
    """Whatever the file holds, the answer is a scenario or one line."""
    try:
        read(text, "node.toml")
    except ScenarioError as error:
        assert str(error).startswith("node.toml: ")  # noqa: PT017 - no error is well too


@given(st.dictionaries(st.sampled_from(["gpu_c", "margin_c", "memory_c"]), st.integers(-50, 130)))
def test_what_is_written_stands_in_the_plan(written: dict[str, int]) -> None:
    """Each value that is written for a GPU is that GPU's value in the plan, as it stands."""
    lines = "\n".join(f"{key} = {value}" for key, value in written.items())
    made = plan(read(f"{H100}[gpu.2.temperature]\n{lines}\n", "node.toml"))
    values = made["states"][0]["gpus"][2]
    assert written == {key: values[f"temperature.{key}"] for key in written}


def test_own_values_go_before_those_of_all() -> None:
    """`gpu.2` says more than `gpu."*"`, wherever it stands in the file."""
    text = H100 + '[gpu.2]\nutilization = 0\n[gpu."*"]\nutilization = 97\n'
    gpus = plan(read(text, "node.toml"))["states"][0]["gpus"]
    assert [97, 97, 0, 97] == [gpu["utilization"] for gpu in gpus[:4]]


def test_the_documented_scenario_is_one() -> None:
    """The example of the how-to page is read as it stands there."""
    page = Path(__file__).parents[4] / "docs" / "how-to-simulate-gpus.md"
    example = page.read_text("utf-8").partition("```toml\n")[2].partition("```")[0]
    first, second = plan(read(example, "page"))["states"]
    assert (None, 1, 97) == (
        first["gpus"][2].get("lost"),
        second["gpus"][2]["lost"],
        second["gpus"][0]["utilization"],
    )
