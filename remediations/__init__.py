"""Turn incidents into plans; here, nothing on the node is changed."""

BUILD = "gpudiag 0.1.0"
