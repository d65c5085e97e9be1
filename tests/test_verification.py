"""docs/verification.md says what the tests and the catalog say today."""

from pathlib import Path

from deploy.dev import verification


def test_page_is_current() -> None:
    """The generated part is what `make verification` would write now."""
    assert verification.page() == verification.PAGE.read_text()


def test_marks_are_found(tmp_path: Path) -> None:
    """A mark on a function or on a class is listed with its reason."""
    source = tmp_path / "test_it.py"
    source.write_text(
        "@pytest.mark.unobtainable('no BMC in band')\n"
        "class TestIt:\n"
        "    @pytest.mark.unobtainable('no switch')\n"
        "    def test_it(self): ...\n",
    )
    expected = [("TestIt", "no BMC in band"), ("test_it", "no switch")]
    assert expected == list(verification.reasons(source))
