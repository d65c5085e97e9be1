"""Judge observations into findings, join findings into incidents: pure, no clock, no files."""

BUILD = "gpudiag 0.1.0"
