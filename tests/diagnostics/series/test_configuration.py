"""What a run was started with, in the words of Megatron, DeepSpeed, HF Trainer and torchrun."""

import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnostics.rules.knowledge import Knowledge
from diagnostics.rules.reading import Reading
from diagnostics.series.configuration import Configuration, Settings
from tests.pace import slower


def read(*lines: str) -> Configuration:
    """Return what the lines say, without the lines."""
    settings = Settings()
    for number, line in enumerate(lines, start=1):
        settings.take(line, number)
    return msgspec.structs.replace(settings.configuration(), lines={})


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            (
                "  tensor_model_parallel_size ...................... 4",
                "  pipeline_model_parallel_size .................... 2",
                "  context_parallel_size ........................... 1",
                "  bf16 ............................................ True",
                "  fp16 ............................................ False",
                "  clip_grad ....................................... 1.0",
                "  world_size ...................................... 64",
                "  distributed_timeout_minutes ..................... 20",
            ),
            Configuration(
                tensor=4,
                pipeline=2,
                context=1,
                precision="bf16",
                clipping=1.0,
                world=64,
                timeout_s=1200.0,
            ),
        ),
        (
            (
                (
                    "using world size: 64, data-parallel size: 8, context-parallel size: 1, "
                    "tensor-model-parallel size: 8, pipeline-model-parallel size: 1"
                ),
            ),
            Configuration(world=64, data=8, context=1, tensor=8, pipeline=1),
        ),
        (
            (
                "gpu-021:3100:3300 [0] NCCL INFO comm 0x55 rank 0 nranks 8 cudaDev 0 - Init START",
                "gpu-021:3101:3301 [1] NCCL INFO comm 0x56 rank 1 nranks 8 cudaDev 1 - Init START",
                "gpu-021:3100:3300 [0] NCCL INFO comm 0x57 rank 3 nranks 4 cudaDev 0 - Init START",
            ),
            Configuration(world=8, heard=(0, 1)),
        ),
        (
            ("Initializing distributed: GLOBAL_RANK: 2, MEMBER: 3/16",),
            Configuration(world=16, heard=(2,)),
        ),
        (
            (
                (
                    "[rank3]:[I1130 04:00:01.1 ProcessGroupNCCL.cpp:979] [PG GUID 7 Rank 3] "
                    "ProcessGroupNCCL initialization options: size: 4, global rank: 3, "
                    "TIMEOUT(ms): 9"
                ),
            ),
            Configuration(world=4, heard=(3,)),
        ),
        (
            ("All distributed processes registered. Starting with 16 processes",),
            Configuration(world=16),
        ),
        (("export MASTER_PORT=24110 WORLD_SIZE=32",), Configuration(world=32)),
        (('  "fp16": {"enabled": true, "loss_scale": 0},',), Configuration(precision="fp16")),
        (('    "bf16": {', '        "enabled": true', "    },"), Configuration(precision="bf16")),
        (('  "fp16": {"enabled": false}, "bf16": {"enabled": "auto"},',), Configuration()),
        (
            ('    "fp16": {', '        "auto_cast": false', '        "enabled": true'),
            Configuration(),
        ),
        (
            (
                "[2026-11-30 02:11:09] [INFO] [config.py:1003:print]   fp16_enabled ....... True",
                "[2026-11-30 02:11:09] [INFO] [config.py:1003:print]   gradient_clipping .. 0.0",
                (
                    "[2026-11-30 02:11:09,120] [INFO] [config.py:1003:print]   "
                    "zero_optimization_stage ...... 3"
                ),
            ),
            Configuration(precision="fp16", clipping=0.0, zero_stage=3),
        ),
        (
            ("bf16=False,", "fp16=True,", "max_grad_norm=1.0,", "ddp_timeout=1800,"),
            Configuration(precision="fp16", clipping=1.0, timeout_s=1800.0),
        ),
        (
            (
                (
                    "torchrun --nnodes=4 --nproc_per_node=8 pretrain.py --bf16 --clip-grad 0.5 "
                    "--tensor-model-parallel-size 16 --pipeline-model-parallel-size 2"
                ),
            ),
            Configuration(ranks_per_node=8, precision="bf16", clipping=0.5, tensor=16, pipeline=2),
        ),
        (("  nproc_per_node   : 8",), Configuration(ranks_per_node=8)),
        (('    "gradient_clipping": 1.0,',), Configuration(clipping=1.0)),
        (("GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0)",), Configuration(gpu="H100")),
        (("using NVIDIA GB200",), Configuration(gpu="GB200")),
        (("  clip_grad_every ... 7", "nothing of it"), Configuration()),
        (("max_grad_norm=none,", "clip_grad ..... 1e999"), Configuration()),
    ],
)
def test_settings(lines: tuple[str, ...], expected: Configuration) -> None:
    """Each form gives what it says, and no more."""
    assert expected == read(*lines)


def test_what_was_said_first_counts() -> None:
    """A later line with the same name is that of another run, or prose; the line is quoted."""
    settings = Settings()
    settings.take("clip_grad ..... 1.0", 3)
    settings.take("clip_grad ..... 0.0", 9)

    assert {"clipping": (3, "clip_grad ..... 1.0")} == settings.configuration().lines


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    """No line raises, and sizes are small whole numbers."""
    said = read(text, f"--tensor-model-parallel-size {text}", f"world_size ..... {text}")

    assert [] == [n for n in (said.tensor, said.world) if n is not None and not 0 <= n <= 10**6]


def test_a_job_that_tells_its_ranks_for_ever_is_read_quickly() -> None:
    """400,000 lines of NCCL take no longer than ordinary ones; each rank is heard."""
    line = "gpu-021:3100:3300 [{gpu}] NCCL INFO comm 0x55 rank {n} nranks 64 cudaDev 0 - Init\n"
    text = "".join(line.format(gpu=n % 8, n=n % 64) for n in range(400_000))
    reading = Reading(Knowledge.of([]), "train.log")
    began = time.process_time()
    for at in range(0, len(text), 1 << 20):
        reading.feed(text[at : at + (1 << 20)].encode())
    settings = reading.seen().curve.settings

    assert (64, 64) == (settings.world, len(settings.heard))
    took = time.process_time() - began
    assert took < 8.0 * slower()
