"""Processor time of one answer about eight simulated GPUs: `python -m bench.nvml`.

The simulator's own time is in it: Python callbacks stand where a real library has C, and take
about three fifths. The first whole answer asks also for what lasts, which is kept for 10 min.
"""

import json
import statistics
import time
from functools import partial

from collectors.gpu.simulator import library, models
from collectors.gpu.simulator.plan import plan
from collectors.gpu.simulator.scenario import read
from collectors.helpers.children.nvml import Session
from collectors.helpers.children.nvml_watch import Watch

GPUS, ROUNDS, TARGET_MS = 8, 15, 15.0
QUESTIONS = ("nvml", "health, brief", "health, first", "health, again")


def measure(model: str) -> list[float]:
    """Return the milliseconds of each question, the median of some rounds."""
    scenario = read(f'model = "{model}"\ncount = {GPUS}\n', model)
    library.install(json.loads(json.dumps(plan(scenario))))
    session = Session(Watch(print))

    def first() -> None:
        session.lasting.forget()
        session.nvml_health()

    asked = (
        partial(session.nvml),
        partial(session.nvml_health, brief=True),
        partial(first),
        partial(session.nvml_health),
    )
    milliseconds = []
    for ask in asked:
        ask()
        rounds = []
        for _ in range(ROUNDS):
            began = time.process_time()
            ask()
            rounds.append((time.process_time() - began) * 1000)
        milliseconds.append(statistics.median(rounds))
    return milliseconds


def main() -> None:
    """Print one row for each model, and mark what is over the target."""
    print(f"{'cpu ms of 8 GPUs':<20}" + "".join(f"{question:>20}" for question in QUESTIONS))
    for model in models.names("models"):
        cells = [f"{ms:.1f}{' OVER' if ms > TARGET_MS else ''}" for ms in measure(model)]
        print(f"{model:<20}" + "".join(f"{cell:>20}" for cell in cells))


if __name__ == "__main__":
    main()
