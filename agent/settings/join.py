"""The one file with which a node joins: `gpudiag_... https://agg-1:9837`, the same on all nodes."""

import re
from pathlib import Path

import msgspec

from agent.cli.errors import Mistake
from agent.settings.load import Report

URL = re.compile(r"https?://[^\s/?#@]+(/[^\s?#]*)?")


class Join(msgspec.Struct, frozen=True):
    """The join token, and where to join; None where settings say that."""

    token: str
    aggregator: str | None = None


def parse(text: str) -> Join:
    """Return what a join file says; one that is empty has an empty token."""
    token, aggregator, *_ = [*text.split(), "", ""]
    return Join(token, aggregator or None)


def joined(report: Report) -> Report:
    """Return the settings with the aggregator of the join file, where they name none themselves."""
    if report.aggregator is not None:
        return report
    try:
        where = parse(Path(report.join_token).read_text("utf-8")).aggregator
    except FileNotFoundError:
        return report
    except (OSError, UnicodeDecodeError) as problem:
        why = getattr(problem, "strerror", None) or problem
        hint = f"chown gpudiag {report.join_token}; chmod 400 {report.join_token}"
        raise Mistake(f"cannot read {report.join_token}: {why}", hint) from None
    if where is not None and URL.fullmatch(where) is None:
        raise Mistake(
            f"{report.join_token}: {where[:80]} is no address of an aggregator",
            "make it anew: gpudiag-aggregator token create --role join --url https://agg-1:9837",
        )
    return msgspec.structs.replace(report, aggregator=where)
