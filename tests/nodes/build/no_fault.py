"""What reads like a fault and is none: ends of jobs, pauses, and what a healthy node does."""

from dataclasses import replace

from tests.nodes.build import bmc, lean
from tests.nodes.build.board import Before
from tests.nodes.build.boot import NOTE, WARNING
from tests.nodes.build.cascades import LOG, ended
from tests.nodes.build.folder import Folder
from tests.nodes.build.jobs import FIRST_PID, training
from tests.nodes.build.logs import JOB_STARTS, iterations
from tests.nodes.build.models import a100, h100
from tests.nodes.build.node import Node
from tests.nodes.build.parts import DRIVER
from tests.nodes.build.rails import change, change_nic, infiniband, of_h200, roce
from tests.nodes.build.sick_gpus import xid

STOPPED = "slurmstepd: error: *** {} ON gpu-017 CANCELLED AT 2026-11-30T02:10:58{} ***"
SIGTERM = (
    "W1130 02:10:58.{0}44 torch/distributed/elastic/agent/server/api.py:704] Received 15 death "
    "signal, shutting down workers"
)

# Of a node in a reservation with the flag MAINT.
RESERVED = "NodeName={} Arch=x86_64\n   State=IDLE+MAINTENANCE+RESERVED ThreadsPerCore=2 \n"
# Clock event reasons of nvml.h: at rest, slowed down by heat, braked from outside.
REST, HEAT, BRAKE = 0x1, 0x48, 0x88


def _log(*lines: str, last: int = 41_190) -> dict[str, str]:
    text = "\n".join([*iterations(41_050, last), *lines])
    return {LOG: f"{JOB_STARTS}{text}\n"}


def cancelled() -> Node:
    """A user cancelled the job: the driver tore down the channels of all ranks at once."""
    node = ended(training(lean.idle()))
    for gpu in range(8):
        who = f"pid={FIRST_PID + gpu}, name=python, Ch"
        lines = xid(node, gpu, 668.0, *(f"45, {who} {n:08x}" for n in range(12)))
        node = node.told(*lines)
    said = _log(STOPPED.format("JOB 88123", ""), SIGTERM.format(3), SIGTERM.format(4))
    return replace(node, logs=said)


def out_of_time() -> Node:
    """The job reached its time limit, and its workers were told to end."""
    said = _log(SIGTERM.format(7), STOPPED.format("STEP 88123.0", " DUE TO TIME LIMIT"))
    return replace(ended(training(lean.cut(a100()))), logs=said)


def preempted() -> Node:
    """A job of higher rank took the nodes."""
    said = _log(STOPPED.format("JOB 88123", " DUE TO PREEMPTION"), SIGTERM.format(2))
    return replace(ended(training(roce())), logs=said)


def maintained() -> Node:
    """The node was rebooted on request, and came up half an hour ago."""
    last = ("systemd-shutdown[1]: Syncing filesystems and block devices.", "reboot: Restarting")
    before = Before(1_930.0, kernel=last)
    node = replace(lean.idle(), uptime_s=1_804.0, bmc=bmc.air_cooled(), before=before)
    return lean.booted(node)


def evaluating() -> Node:
    """The job evaluates: its GPUs wait for each other, and no training step is written."""
    node = training(h100())
    for gpu in range(8):
        node = node.change_gpu(gpu, use=18 + gpu)
    loss = "validation loss at iteration 41190 | lm loss value: 2.013411E+00 | lm loss PPL: 7.4889"
    rule = "-" * 96
    return replace(node, logs=_log("Evaluating iter 1/200", rule, loss, rule, "Evaluating iter 9"))


def saving() -> Node:
    """The job saves its checkpoint; two steps took a minute each for it."""
    lines = [*iterations(41_050, 41_150)]
    for at in (30, 80):
        lines[at] = lines[at].replace("(ms): 30", "(ms): 610")
        lines.insert(at, f"saving checkpoint at iteration   {41_050 + at} to /data/runs/88123")
    node = training(lean.other(lean.idle().gpus, DRIVER, switches=4))
    return replace(node, logs={LOG: JOB_STARTS + "\n".join(lines) + "\n"})


def searching() -> Node:
    """A run in half precision begins: it halves its loss scale until a step fits."""
    lines = []
    for n, line in enumerate(iterations(1, 60)):
        scale = 2.0 ** max(32 - n, 20)
        skipped = int(n < 12)
        told = line.replace("loss scale: 1.0", f"loss scale: {scale:.1f}")
        told = told.replace("skipped iterations:   0", f"skipped iterations:   {skipped}")
        lines.append(told)
    return replace(lean.busy(), logs={LOG: JOB_STARTS + "\n".join(lines) + "\n"})


def old_words() -> Node:
    """A week ago a link retrained and an adapter complained of its slot; nothing since."""
    node = roce()
    at = node.uptime_s * 0.3
    where = node.ports[4].pci
    power = "Detected insufficient power on the PCIe slot (27W)."
    return node.told(
        (
            at,
            WARNING,
            f"mlx5_core {where}: mlx5_pcie_event:301:(pid 902): {power}",
        ),
        (at + 3.0, NOTE, f"mlx5_core {where} rail4: Link down"),
        (at + 9.0, NOTE, f"mlx5_core {where} rail4: Link up"),
    )


def zero_length() -> Node:
    """GPUs at rest report a brake and heat for one reading of two, and nothing is held down."""
    node = lean.a100_at_rest().all_say(clocks__reasons=REST)
    # Of two readings that are a second apart, whenever they are, one falls into it.
    for second in range(1, 12):
        over = second % 2 == 0
        told = {2: BRAKE | REST, 5: HEAT | REST}
        says = {gpu: {"clocks.reasons": REST if over else bits} for gpu, bits in told.items()}
        node = node.later(float(second), says)
    return node


def worked_on() -> Node:
    """People replace cables of a node that they have reserved: two rails are away."""
    node = of_h200(infiniband())
    for n in (1, 6):
        node = change(node, f"mlx5_{n}", state="1: DOWN", phys="2: Polling", rate="SDR")
        node = change_nic(node, f"ib{n}", running=False)

    def reserved(folder: Folder) -> None:
        name = node.name.partition(".")[0]
        folder.command("scontrol", "show", "node", name, stdout=RESERVED.format(name))

    return node.also(reserved)


# Something is wrong with it, and somebody is at it.
WORKED_ON = {"maintenance-cables": worked_on}
HEALTHY = {
    "zero-length-violations": zero_length,
    "cancelled-xid45-storm": cancelled,
    "time-limit": out_of_time,
    "preempted": preempted,
    "maintenance-reboot": maintained,
    "evaluation-pause": evaluating,
    "checkpoint-pause": saving,
    "loss-scale-search": searching,
    "roce-old-words": old_words,
}
