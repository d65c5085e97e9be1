"""Which evidence no user of the node can write: the kernel's, the driver's, the BMC's, Slurm's."""

import re
from collections.abc import Sequence

from diagnostics.finding import Evidence, Finding

# What is said in a log, by a tool of the job or by a rule of the site's is no ground to act.
TEXT = ("training.", "text.")
SOURCES = re.compile(
    r"""
    (?!.*\.\.)(?:
      kmsg                                   # /dev/kmsg: the kernel's own records alone
    | NVML | nvml[A-Z]\w{2,60}               # what the driver answers
    | /sys/(?:bus|class|devices|module|fs/pstore)(?:/[^\s]{1,200})?
    | /var/lib/systemd/pstore/[^\s]{1,200}
    | /proc/(?:mdstat|net/route|\d{1,10}/(?:stat|cgroup|fd|limits))
    | ipmitool\ raw\ [0-9a-fx ]{4,80}
    | scontrol\ (?:show\ node|listpids)(?:\ [\w.-]{1,64})?
    | devlink\ health\ show\ [^\s]{1,80}\ reporter\ \w{1,20}
    )
    """,
    re.VERBOSE,
)


def trusted(finding: Finding) -> tuple[Evidence, ...]:
    """Return the evidence of *finding* that no user of the node can have written."""
    if finding.stage == "training" or finding.check.startswith(TEXT):
        return ()
    return tuple(filter(_sure, finding.evidence))


def untrusted(finding: Finding) -> Sequence[str]:
    """Return the sources of the rest."""
    sure = trusted(finding)
    return tuple(dict.fromkeys(e.source for e in finding.evidence if e not in sure))


def _sure(evidence: Evidence) -> bool:
    # A line number says that it is a line of a file, whatever the file is called.
    by_program = bool(evidence.values.get("by_program"))
    return evidence.line is None and not by_program and bool(SOURCES.fullmatch(evidence.source))
