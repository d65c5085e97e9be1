"""Where sentences are said, and the words in them that no source says as a sentence."""

# Where sentences are made that a person reads, and modules there that only know forms of lines.
JUDGING = (
    *("diagnostics/checks/**/*.py", "diagnostics/incidents/*.py", "diagnostics/nccl/*.py"),
    *("diagnostics/series/*.py", "diagnostics/check.py", "diagnostics/knowledge/codes/*.py"),
    *("remediations/plan/**/*.py", "remediations/heat/*.py", "remediations/remedies/*.py"),
    *("remediations/duty.py", "remediations/actor/counts.py", "remediations/act/hand.py"),
    "agent/walk/*.py",
    *("collectors/facts/observation.py", "collectors/gpu/breaker.py", "collectors/gpu/asking.py"),
    *("collectors/bmc/controller.py", "collectors/helpers/children/sensors.py"),
    *("collectors/helpers/helper.py", "collectors/helpers/children/kept.py"),
    *("collectors/node/command.py", "collectors/node/live.py", "collectors/node/recorded.py"),
    *("collectors/host/mounts.py", "collectors/host/memory.py", "collectors/host/changes.py"),
    *("collectors/jobs/expected.py", "collectors/jobs/running.py", "collectors/network/peers.py"),
    *("collectors/network/tiers.py", "collectors/helpers/children/pickled.py"),
    *("collectors/helpers/children/nvml_watch.py", "collectors/network/ibping.py"),
)
# Words that are values of sentences, too short to be found as sentences.
WORDS = (
    *("answering", "GPU", "GPUs", "card", "cards", "fan", "fans", "fan sensor", "fan sensors"),
    *("coolant sensor", "coolant sensors", "inlet sensors", "GPU sensors", "sensor", "sensors"),
    *("error", "errors", "data", "precision", "hardware", "unknown", "nobody", "power supply"),
    *("supply", "supplies", "power supplies", "working supplies", "NVSwitches", "peer", "peers"),
    *("gpu", "log", "node", "port", "nic", "mount", "disk", "process", "job", "switch", "rank"),
    *("nvswitch", "interface", "user", "container", "boot", "package", "peer node", "array"),
    *("processes", "driver", "network", "training", "day", "hour"),
    *("temperature", "communication", "power", "heat", "none", "nothing"),
    *("crashed", "failed", "denied", "timeout", "stale", "garbled", "link", "links", "interfaces"),
    *("fabric", "recovered", "corrected", "fatal", "device", "devices", "drive", "drives"),
    *("open", "acknowledged", "resolved", "reopened", "advised", "observed", "planned", "done"),
    *("{number} GPU answering", "{number} GPUs answering", "{number} GPUs on the PCI bus"),
    *("{number} GPU on the PCI bus", "open module nvidia {version}"),
    *("closed module nvidia {version}", "no reader is running", "the 8 GPUs of this node"),
    *("the helper left without an answer", "the helper ended with signal {signal}", "needs root"),
    *("its owner alone may read it", "{good} of {listed} {noun}", "{message} (and {more} more)"),
    *("parallel {name} {size}", "clipping at {clipping}", "{rate}/{per} in one reading ({limit})"),
    *("{n} replays on link {link}", "{n} recoveries failed on link {link}", "tensor {size}"),
    *("{n} recovery events on link {link}", "{n} crc flits on link {link}", "data {size}"),
    *("pipeline {size}", "context {size}", "expert {size}", "{name} unset on {group}"),
    *(
        *("{step} (by its code)", "{step} (by the driver's own word)"),
        "{step} (for a person to decide)",
        "{step} (by the sub-event in its line)",
        "port {port} is {state} ({phys}), though {one} and {two}",
        "ranks {ranks}",
        "a fan is too slow ({values})",
        "the coolant is too warm or too little ({values})",
        "the air that comes in is too warm, which is the room's matter ({values})",
        "NVMe drives",
        "rank of its job",
        "ports in use",
        "the scheduler",
        "the settings",
    ),
)
FORMS = {
    *(f"diagnostics/series/{name}.py" for name in ("configuration", "frameworks", "lines")),
    *(f"diagnostics/series/{name}.py" for name in ("drawn", "runs", "spike")),
    *("diagnostics/incidents/declared.py", "diagnostics/incidents/ticket.py"),
    *("diagnostics/knowledge/codes/tables.py", "diagnostics/knowledge/codes/events.py"),
    # What is typed into a script, a spec or the code of a job is of no language.
    "remediations/remedies/job_lines.py",
}
# What stands between sentences and clauses, and a number before what it counts.
LABELS = (
    *("Only if", "Risk", "Verified", "Answers", "How often", "Turn on", "would act", "waits"),
    *("refused", "advised", "observed"),
    *("Causes", "Look first", "What to do", "Never", "Told apart", "Explains", "Checks", "Reads"),
    *("References", "Limits", "Can find", "Set with", "Anchor", "Pattern", "Finds", "Leaves"),
    *("Remedy", "More", "Where", "On", "Told as", "Recovery", "Driver", "Sub-events"),
    *("agent", "walks", "aggregator", "spool", "helpers", "GPUs", "last run", "problem", "source"),
    *("#", "address", "job", "user", "margin", "memory", "busy", "temp", "power"),
    *("open", "acknowledged", "resolved", "reopened", "ok", "fault", "warning", "unknown"),
    *("application", "driver", "hardware", "software", "firmware", "fabric"),
)
MARKS = ("; ", ", ", " and ", " or ", ": ", ":", ".", "{count} {things}")
NAMES = {
    *("GPU", "GPUs", "NVSwitch", "rank", "pid", "uid", "gpu", "pod", "pods", "beegfs", "ceph"),
    *("mds", "statfs", "adjtimex", "syslog", "dev", "kmsg", "export", "unset", "target", "iB"),
    *("ZeRO", "stage", "nvidia", "gpudiag", "NodeName", "State", "Reason", "UTC", "scontrol"),
    *("kubectl", "systemctl", "nvidia-smi", "sbatch"),
}
COMMANDS = {
    *("crictl ps", "docker ps", "podman ps", "scontrol listpids", "gpu idle", ".often"),
    *("scontrol show node: {said}", "squeue: {said}", "scontrol requeue {job}"),
    # On its own: it is said to a person, and no row of words that something runs.
    "nvidia-smi -i {name} --gpu-reset",
    *("systemctl restart nvidia-persistenced", "scontrol update NodeName={name} State=RESUME"),
    *('scontrol update NodeName={name} State=DRAIN Reason="{why}"',),
    *('scontrol reboot ASAP nextstate=DOWN reason="{why}" {name}',),
    *(
        "/run/gpudiag-actor/caps.json: {it}",
        "sbatch --exclude={node} SCRIPT",
        "{seconds} UTC",
        "{op} of {sizes}",
    ),
}
