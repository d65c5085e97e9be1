"""The central service: it hears every node, knows how old what it knows is, and grants leases."""

BUILD = "gpudiag 0.1.0"
