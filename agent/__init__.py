"""The program on the node: walk, report, daemon; the only place where collecting, judging and acting meet."""

BUILD = "gpudiag 0.1.0"
