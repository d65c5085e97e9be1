"""NCCL's own rules: which interfaces, adapters and addresses it takes, and what settings cost."""
