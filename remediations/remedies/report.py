"""The step before a repair of GPUs: the vendor's report, which a reset or a reboot makes empty."""

from remediations.plan.actions import Step

VERB = "bug_report"
BUG_REPORT = Step(
    verb=VERB,
    says="nvidia-bug-report.sh, for at most 10 min",
    done="bug_reported",
)
