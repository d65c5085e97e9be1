"""What can be seen and named: Observation, Missing, Subject, Files, Output; no I/O."""
