"""Tell by its words which framework wrote a log."""

# The narrower word first: each of them also prints those of what it is built on.
WORDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("sglang", ("sglang",)),
    ("vllm", ("vllm",)),
    ("tensorrt-llm", ("tensorrt_llm", "[TRT-LLM]", "TensorRT-LLM")),
    # [INFO|callbacks.py:310] 2026-11-30 02:11:09 >> {'loss': 0.512, 'throughput': 1234.5}
    ("llamafactory", ("llamafactory", "LLaMA-Factory", "llama_factory")),
    ("nemo", ("[NeMo ", "nemo.", "train_step_timing in s", "reduced_train_loss")),
    ("torchtitan", ("torchtitan", "[titan]")),
    # [INFO|DP=0|PP=0|TP=0|gpu-021]: iteration: 70 / 900 | consumed_tokens: 73.4M |
    ("nanotron", ("nanotron", "|DP=", "elapsed_time_per_iteration_ms:")),
    ("fairseq", ("fairseq", "train_inner |", "| num_updates ")),
    ("maxtext", ("MaxText", "completed step:")),
    ("jax", ("jax.", "jaxlib", "XLA_FLAGS")),
    ("gpt-neox", ("gpt-neox", "megatron.neox", "NeoXArgs")),
    ("megatron-deepspeed", ("Megatron-DeepSpeed", "consumed tokens:")),
    ("megatron-core", ("megatron/core", "megatron.core", "mcore")),
    ("megatron-lm", ("megatron", "Megatron", "elapsed time per iteration (ms)")),
    # Epoch 2:  31%|███ | 812/2604 [11:20<25:01,  1.19it/s, v_num=4, train_loss=2.310]
    ("lightning", ("lightning", "Lightning", "v_num=")),
    ("horovod", ("horovod", "Horovod")),
    (
        "transformers",
        ("transformers/trainer", "|trainer.py:", "{'loss': ", "***** Running training"),
    ),
    ("accelerate", ("accelerate.", "accelerate launch")),
    ("deepspeed", ("deepspeed", "DeepSpeed", "[deepscale]", "time (ms) | fwd")),
    ("fsdp", ("FullyShardedDataParallel", "fully_shard", "FSDP")),
    ("ddp", ("DistributedDataParallel", "Reducer buckets")),
    (
        "torchrun",
        ("torchrun", "torch.distributed.run", "torch/distributed/elastic", "torchelastic"),
    ),
    ("pytorch", ("torch.", "torch/")),
)


def named(*texts: str) -> str | None:
    """Return the narrowest framework whose words stand in the texts, None where none is known."""
    return next(
        (name for name, words in WORDS if any(word in text for word in words for text in texts)),
        None,
    )
