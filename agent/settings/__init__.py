"""What a site says in /etc/gpudiag/gpudiag.toml."""
