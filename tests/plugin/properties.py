"""Hypothesis profiles: `ci` says the same thing each time, `fuzz` looks further."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("ci", deadline=None, derandomize=True, max_examples=50)
settings.register_profile(
    "fuzz",
    deadline=None,
    max_examples=2000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],  # a slow machine is no finding here
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
