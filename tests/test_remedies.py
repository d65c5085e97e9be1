"""docs/remedies.md says what the catalogue of remedies says today."""

from deploy.dev import remedies
from remediations.plan.catalog import REMEDIES


def test_page_is_current() -> None:
    """It is what `make remedies` would write now."""
    assert remedies.page() == remedies.PAGE.read_text()


def test_each_remedy_has_its_row_in_the_order_of_trust() -> None:
    """Seven cells each, and advised by default."""
    rows = [row.split(" | ") for row in remedies.rows()]

    assert [(f"| `{name}`", 7, "advise") for name in REMEDIES] == [
        (cells[0].partition(":")[0], len(cells), cells[5]) for cells in rows
    ]
