"""Whether the program itself is wrong: its code, its arguments, its files."""

from collections.abc import Iterator

from diagnostics.check import check
from diagnostics.checks.training.judging import faults_said
from diagnostics.finding import Statement
from diagnostics.rules.seen import TrainingLogs

FAULTS = (
    "module_not_found",
    "file_not_found",
    "permission_denied",
    "division_by_zero",
    "tensor_device_mismatch",
    "tensor_shape_mismatch",
    "assertion_failed",
    "python_runtime_error",
    "python_exception",
    "data_parallel_single_process",
)


@check("training.program", stage="training", faults=FAULTS, proved="documented")
def program(seen: TrainingLogs) -> Iterator[Statement]:
    """No exception says that the program itself is wrong.

    Such an error comes again on any node, so that nobody need drain one for it. A narrower class
    wins over the general exception, and one that the run outlived is a note.
    """
    yield from faults_said(seen, FAULTS, "an error of the program itself")
