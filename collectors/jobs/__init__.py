"""Who owns a process: scheduler job, container, cgroup."""
