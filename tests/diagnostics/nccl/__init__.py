"""NCCL's own rules, as far as they are followed."""
