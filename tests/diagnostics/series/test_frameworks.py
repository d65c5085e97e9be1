"""Frameworks are told apart by their lines, the narrower one first."""

import pytest

from diagnostics.series.frameworks import WORDS, named

LINES = {
    "sglang": "[2026-11-30 02:11:09 TP0] sglang is using nccl==2.21.5",
    "vllm": "(VllmWorkerProcess pid=812) INFO 11-30 02:11:09 vllm/worker.py:78 ready",
    "tensorrt-llm": "[TensorRT-LLM] TensorRT-LLM version: 0.15.0",
    "llamafactory": "[INFO|2026-11-30 02:11:09] llamafactory.hparams.parser:401 >> Process rank: 0",
    "nemo": "[NeMo I 2026-11-30 02:11:09 megatron_init:269] Rank 0 has data parallel group",
    "torchtitan": "[rank0]:[titan] 2026-11-30 02:11:09,120 - root - INFO - step: 10  loss: 7.1",
    "nanotron": "[INFO|DP=0|PP=0|TP=0|gpu-021]: iteration: 70 / 900 | lm_loss: 7.52",
    "fairseq": '2026-11-30 02:11:09 | INFO | train_inner | {"epoch": 1, "loss": "9.5"}',
    "maxtext": "completed step: 30, seconds: 4.125, loss: 8.125",
    "jax": "WARNING:jax._src.xla_bridge:no TPU is found",
    "gpt-neox": "NeoXArgs.from_ymls() ['config/20B.yml']",
    "megatron-deepspeed": "iteration 12/ 900 | consumed tokens: 97829 | lm loss: 2.1",
    "megatron-core": "INFO:megatron.core.optimizer:setting up the optimizer",
    "megatron-lm": "iteration 12/ 900 | elapsed time per iteration (ms): 88.0 | lm loss: 2.1",
    "lightning": "Epoch 2:  31%|### | 812/2604 [11:20<25:01,  1.19it/s, v_num=4]",
    "horovod": "[1,0]<stdout>:Horovod rank 0 of 8",
    "transformers": "{'loss': 2.0491, 'learning_rate': 0.000196, 'epoch': 0.28}",
    "accelerate": "accelerate launch --num_processes 8 train.py",
    "deepspeed": "[INFO] [deepspeed] OVERFLOW! Rank 0 Skipping step.",
    "fsdp": "FullyShardedDataParallel(",
    "ddp": "DistributedDataParallel(",
    "torchrun": "torchrun --nproc_per_node 8 train.py",
    "pytorch": "torch.cuda.is_available() is True",
}


@pytest.mark.parametrize("name", LINES)
def test_a_line_tells_its_framework(name: str) -> None:
    """Each framework's own line names it."""
    assert name == named(LINES[name])


def test_every_framework_has_a_line() -> None:
    """None is known without a line that shows it."""
    assert [name for name, _ in WORDS] == list(LINES)


def test_the_narrower_one_counts() -> None:
    """NeMo's log holds Megatron's words, and Megatron's those of PyTorch; prose has none."""
    assert "nemo" == named("torch.distributed", LINES["megatron-core"], LINES["nemo"])
    assert named("step 3 loss 2.31") is None
