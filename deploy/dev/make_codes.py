"""Write the tables of GPU codes from their sources: `python -m deploy.dev.make_codes`, or --check.

The sources are the CSV files in diagnostics/knowledge/codes/sources: numbers, names and actions
as NVIDIA publishes them, and meanings in our words. An SXid without a meaning of its own gets one
from the parts of its name, which say the unit, the part and the failure.
"""

import csv
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from diagnostics.knowledge.codes.tables import Sub, SXid, Word, Xid

FOLDER = Path(__file__).resolve().parents[2] / "diagnostics" / "knowledge" / "codes"
Row = Mapping[str, str]


def rows(name: str) -> Iterator[Row]:
    """Yield the rows of one source."""
    with (FOLDER / "sources" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def xids() -> Iterator[Xid]:
    """Yield the Xids."""
    for row in rows("xid"):
        yield msgspec.convert(
            {
                **_common(row),
                "generations": row["generations"].split(),
                "told_by_154": row["told_by_154"] == "yes",
            },
            Xid,
        )


def sxids() -> Iterator[SXid]:
    """Yield the SXids."""
    for row in rows("sxid"):
        yield msgspec.convert(
            {
                **_common(row),
                "generations": row["generations"].split(),
                "meaning": row["meaning"] or composed(row["name"]),
                "printed": row["printed"],
                "always_fatal": row["always_fatal"] == "yes",
            },
            SXid,
        )


def _common(row: Row) -> dict[str, Any]:
    same = ("name", "class", "severity", "recovery", "meaning", "apart")
    return {"code": int(row["code"]), **{key: row[key] for key in same}}


def composed(name: str) -> str:
    """Return what a name like NPORT_INGRESS_RIDTAB_ECC_DBE_ERR says: unit, part, failure."""
    unit = next((word for word in words("unit") if name.startswith(f"{word}_")), "")
    rest = name.removeprefix(unit).strip("_")
    failure = next((word for word in words("failure") if rest.endswith(word)), "")
    part = rest.removesuffix(failure).strip("_")
    told = words("failure").get(failure, "a packet or state that is not allowed")
    return f"{words('unit')[unit]}{f', {part}' if part else ''}: {told}"


@cache
def words(kind: str) -> Mapping[str, str]:
    """Return the words of one kind, the longest first."""
    found = {row["word"]: row["meaning"] for row in rows("sxid_words") if row["kind"] == kind}
    return dict(sorted(found.items(), key=lambda item: -len(item[0])))


def subs() -> Iterator[Sub]:
    """Yield the sub-events of Xid 144 to 150."""
    for row in rows("nvlink5"):
        yield msgspec.convert(
            {
                **row,
                "xid": int(row["xid"]),
                "unit": row["unit"].split("/"),
                "unit_before_575": int(row["unit_before_575"]),
                "unit_from_575": int(row["unit_from_575"]),
                "reason": int(row["reason"]) if row["reason"] else None,
                "status": int(row["status"], 16) if row["status"] else None,
            },
            Sub,
        )


def register_words() -> Iterator[Word]:
    """Yield what the bits of Xid 74's register words mean."""
    for row in rows("nvlink74"):
        bits = [int(bit) for bit in row["bits"].split()]
        yield msgspec.convert({**row, "word": int(row["word"]), "bits": bits}, Word)


def tables() -> dict[str, str]:
    """Return the text of each table by its file's name: JSON, a code in a line."""
    made = {"xid": xids(), "sxid": sxids(), "nvlink5": subs(), "nvlink74": register_words()}
    return {
        f"{name}.json": "[\n" + ",\n".join(_line(row) for row in table) + "\n]\n"
        for name, table in made.items()
    }


def _line(row: msgspec.Struct) -> str:
    return msgspec.json.encode(row).decode()


def main() -> None:
    """Write the tables, or say which one is not what the sources make."""
    for name, text in tables().items():
        path = FOLDER / name
        if sys.argv[1:] != ["--check"]:
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            sys.exit(f"{path} is not current: run python -m deploy.dev.make_codes")


if __name__ == "__main__":
    main()
