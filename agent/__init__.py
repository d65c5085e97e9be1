"""The program on the node: the one place where collecting, judging and acting meet."""

BUILD = "gpudiag 0.1.0"
