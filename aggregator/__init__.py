"""The central service; so far only its place in the layers."""

BUILD = "gpudiag 0.1.0"
