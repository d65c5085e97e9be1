"""cpufreq's policies."""

import asyncio
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.wanted import Wanted
from collectors.host import governor
from collectors.host.governor import CpuPolicies, Policy
from tests.recording import recorded

FOLDER = "/sys/devices/system/cpu/cpufreq"


def policy(number: int, **values: str) -> dict[str, str]:
    return {f"{FOLDER}/policy{number}/{name}": f"{text}\n" for name, text in values.items()}


def test_policies_that_are_alike_are_one(tmp_path: Path) -> None:
    """A node of 224 CPUs has two or three kinds of policy, in the order of their numbers."""
    files = {
        **policy(0, scaling_governor="performance", scaling_driver="intel_pstate"),
        **policy(2, scaling_governor="performance", scaling_driver="intel_pstate"),
        **policy(
            10,
            scaling_governor="powersave",
            scaling_driver="intel_pstate",
            energy_performance_preference="balance_performance",
        ),
    }
    expected = CpuPolicies(
        policies=(
            Policy(governor="performance", driver="intel_pstate", count=2),
            Policy(governor="powersave", driver="intel_pstate", preference="balance_performance"),
        )
    )

    assert expected == asyncio.run(governor.collect(recorded(tmp_path, files=files), Wanted()))


def test_a_virtual_machine_has_none(tmp_path: Path) -> None:
    """No cpufreq is no policy, and no error."""
    expected = CpuPolicies(policies=())

    assert expected == asyncio.run(governor.collect(recorded(tmp_path), Wanted()))


@given(st.lists(st.sampled_from(["performance", "powersave", "schedutil"]), max_size=30))
def test_every_policy_is_counted(names: list[str]) -> None:
    """The counts of the kinds add up to the policies of the node."""
    seen = governor.kinds([(name, "acpi-cpufreq", None) for name in names])

    assert len(names) == sum(kind.count for kind in seen)
