"""How the CPUs' clock is chosen."""

from collections.abc import Iterator

from collectors.host.governor import FOLDER, CpuPolicies, Policy
from diagnostics.check import NODE, check
from diagnostics.finding import Evidence, NotApplicable, Statement, Well, found

# Here `powersave` is the kernel's default and moves with the load; the preference says how eagerly.
# https://docs.kernel.org/admin-guide/pm/intel_pstate.html, .../amd-pstate.html (active mode)
SELF_STEERING = frozenset({"intel_pstate", "amd-pstate-epp", "amd_pstate_epp"})


@check("host.governor", stage="processes", faults=("cpu_governor_powersave",), proved="recorded")
def governor(seen: CpuPolicies) -> Iterator[Statement]:
    """No CPU is held at its lowest clock.

    Launching kernels and loading data is single-threaded work: a capped CPU leaves the GPUs waiting
    a little at each step. Never more than a note, for a site may want it so.
    """
    if not seen.policies:
        yield NotApplicable(why="the system does not steer the CPUs' clock (no cpufreq policy)")
        return
    saving = [policy for policy in seen.policies if _saves(policy)]
    for policy in saving:
        steers = policy.driver in SELF_STEERING
        yield found(
            "cpu_governor_powersave",
            "info",
            NODE,
            "{policies} CPU policies {what} (driver {driver})",
            Evidence(source=f"{FOLDER}/scaling_governor", text=policy.governor),
            variant="preference" if steers else "",
            policies=policy.count,
            what="prefer to save power" if steers else "are held at their lowest clock: powersave",
            driver=policy.driver or "unknown",
        )
    if not saving:
        kinds = ", ".join(f"{p.count} {p.governor} ({p.driver})" for p in seen.policies)
        yield Well(message=f"CPU policies: {kinds}")


def _saves(policy: Policy) -> bool:
    if policy.driver in SELF_STEERING:
        return policy.preference == "power" and policy.governor != "performance"
    return policy.governor == "powersave"
