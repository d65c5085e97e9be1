"""A simulated InfiniBand fabric: ibsim, opensm, and real infiniband-diags tools on its nodes."""
