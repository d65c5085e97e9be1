"""Lines of the true shape, with values that change as those of real logs do."""

import random
from collections.abc import Iterator
from itertools import count

WORDS = (
    "Loading checkpoint shard {a} of 96 from /data/run-{b}/step_{c}",
    "[rank{a}]: saved optimizer state of layer {b} in {c} ms",
    "INFO:root:prefetched batch {c} from shard {b:05d}.tar (queue depth {a})",
    "gpu-{b:03d}:{c}:{c} [{a}] NCCL INFO Channel {b:02d}/0 : {a}[{a}] -> {b}[{b}] via P2P/CUMEM",
    "2026-11-30 02:11:{a:02d},{b:03d} trainer.data WARNING skipped sample {c}: text of {b} tokens",
    "Epoch {a}: data loader worker {b} has read {c} samples since its start",
    "DEBUG urllib3.connectionpool:{b} https://store:443 GET /bucket/part-{c} HTTP/1.1 200 {c}",
)
KERNEL = (
    "Nov 30 02:11:{a:02d} gpu-017 systemd[1]: Started session {c} of user root.",
    "Nov 30 02:11:{a:02d} gpu-017 kernel: [{c}.{c:06d}] audit: type=1400 audit({c}.{b:03d}:{b})",
    "Nov 30 02:11:{a:02d} gpu-017 sshd[{c}]: Accepted publickey for root from 10.0.0.{a} port {c}",
    "Nov 30 02:11:{a:02d} gpu-017 kernel: [{c}.{c:06d}] perf: interrupt took too long ({b} > {a})",
)
# Lines that hit, with numbers of as many digits as real ones have, times that go on, several ranks.
XID = (
    "[{at:12.6f}] NVRM: Xid (PCI:0000:{bus}:00): {xid}, pid={p}, name={name}, Ch {c:08x},"
    " intr {b:08x}. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_{a} faulted @ 0x{b:x}_{c:08x}."
    " Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"
)
OOM = (
    "[rank{r}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {x:.2f} MiB. GPU {a}"
    " has a total capacity of 79.11 GiB of which {y:.2f} MiB is free. Process {p} has {z:.2f} GiB"
    " memory in use."
)
SHORT = "step {n} loss: {z:.{d}f}"
LOST = "step {n} loss: nan"
RANKS_LOST = "[rank{a}]:{time},{b:03d} step: {n} loss: nan grad_norm: nan lr: {small:.3e}"
PROGRAM = "{time} app[{p}]: RuntimeError: CUDA error: out of memory"
DICT = "{{'loss': {z:.4f}, 'grad_norm': {y!r}, 'learning_rate': {small!r}, 'epoch': {epoch:.2f}}}"
TITAN = (
    "[rank{a}]:{time},{b:03d} - root - INFO - step: {n:2d}  loss: {z:7.4f}  grad_norm: {y:7.4f}"
    "  memory: {z:5.2f}GiB({z:.2f}%)  tps: {c:,}  mfu: {z:.2f}%"
)
ITERATION = (
    " [{time}.{c:06d}] iteration {n:8d}/ 5000000 | consumed samples: {samples:12d} |"
    " elapsed time per iteration (ms): {x:.1f} | throughput per GPU (TFLOP/s/GPU): {y:.1f} |"
    " learning rate: {small:.6E} | global batch size:  1024 | lm loss: {z:.6E} |"
    " loss scale: {scale:.1f} | grad norm: {z:.3f} | num zeros: {c} |"
    " number of skipped iterations:   0 | number of nan iterations:   0 |"
)
TIMER = "    all-grads-sync ................................: ({y:.2f}, {x:.2f})"


def values(draw: random.Random, n: int) -> dict[str, object]:
    """Return what a line is filled with. Many are small, a few large: so are pids and times."""
    a, c = draw.randrange(8), int(10 ** draw.uniform(0, 6))
    return {
        "a": a,
        "b": draw.randrange(1000),
        "c": c,
        "n": n,
        "p": 300 + c,
        "d": 2 + n % 3,
        "x": draw.lognormvariate(7, 1),
        "y": draw.lognormvariate(2, 2),
        "z": draw.uniform(0.1, 78),
        "small": draw.uniform(1e-6, 9e-4),
        "epoch": n / 5_000,
        "r": draw.randrange(64),
        "at": n / 37,
        "samples": 1024 * n,
        "bus": ("4e", "9a", "c3")[a % 3],
        "xid": (31, 31, 13, 43)[a % 4],
        "name": ("python3", "pt_main_thread")[a % 2],
        "scale": 2.0 ** (10 + n // 7_001 % 7),
        "time": f"2026-11-30 {n // 3600 % 24:02d}:{n // 60 % 60:02d}:{n % 60:02d}",
    }


def lines(forms: tuple[str, ...], seed: int) -> Iterator[str]:
    """Yield lines with values that change, in their sizes as well."""
    draw = random.Random(seed)  # noqa: S311 - text, no secret
    for n in count():
        yield draw.choice(forms).format(**values(draw, n))
