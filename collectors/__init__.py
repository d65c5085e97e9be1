"""Read the node: every answer is an Observation, or a Missing that says why there is none."""

BUILD = "gpudiag 0.1.0"
