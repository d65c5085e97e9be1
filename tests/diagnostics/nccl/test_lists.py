"""Lists of names, read as NCCL reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnostics.nccl.lists import Entry, Selection, parse

NAMES = st.text("abcmlx5_0123", min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Selection()),
        ("ib", Selection(entries=(Entry("ib"),))),
        ("=bond0,ib0", Selection(entries=(Entry("bond0"), Entry("ib0")), exact=True)),
        ("^docker,lo", Selection(entries=(Entry("docker"), Entry("lo")), exclude=True)),
        ("^=lo", Selection(entries=(Entry("lo"),), exclude=True, exact=True)),
        ("mlx5_0:1,,mlx5_4:x", Selection(entries=(Entry("mlx5_0", 1), Entry("mlx5_4", 0)))),
        ("mlx5_0:1:2", Selection(entries=(Entry("mlx5_0", 1),))),
        (":1,mlx5_2:-1", Selection(entries=(Entry("mlx5_2"),))),
        ("^", Selection(exclude=True)),
    ],
)
def test_what_a_list_says(text: str, expected: Selection) -> None:
    """Signs stand in front, ports behind a colon, and empty places are passed over."""
    assert expected == parse(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mlx5_1", ["mlx5_1/1", "mlx5_1/2", "mlx5_10/1"]),
        ("=mlx5_1", ["mlx5_1/1", "mlx5_1/2"]),
        ("mlx5_1:2", ["mlx5_1/2"]),
        ("^mlx5_1", ["mlx5_0/1"]),
        ("^=mlx5_1:1", ["mlx5_0/1", "mlx5_1/2", "mlx5_10/1"]),
        ("", ["mlx5_0/1", "mlx5_1/1", "mlx5_1/2", "mlx5_10/1"]),
        ("^", []),
        ("mlx4", []),
    ],
)
def test_what_a_list_takes(text: str, expected: list[str]) -> None:
    """A name is a beginning unless exact; nothing listed is everything, or with ^ nothing."""
    ports = [("mlx5_0", 1), ("mlx5_1", 1), ("mlx5_1", 2), ("mlx5_10", 1)]
    selection = parse(text)

    assert expected == [f"{name}/{port}" for name, port in ports if selection.takes(name, port)]


@given(text=st.text(max_size=60), name=st.text(max_size=20), port=st.integers(0, 255))
def test_any_text_is_a_list(text: str, name: str, port: int) -> None:
    """No value of a stranger's environment raises."""
    assert parse(text).takes(name, port) in (True, False)


@given(names=st.lists(NAMES, min_size=1, max_size=5), name=NAMES, exact=st.booleans())
def test_an_exclusion_takes_what_the_list_leaves(names: list[str], name: str, exact: bool) -> None:  # noqa: FBT001 - hypothesis
    """With ^ in front a list takes exactly what it would leave without."""
    text = "=" * exact + ",".join(names)

    assert parse(text).takes(name) is not parse(f"^{text}").takes(name)


@given(names=st.lists(NAMES, min_size=1, max_size=5), name=NAMES)
def test_an_exact_list_takes_its_members(names: list[str], name: str) -> None:
    """What is exact is what stands in the list, and each such name is a beginning too."""
    exact, loose = parse("=" + ",".join(names)), parse(",".join(names))

    assert (name in names) == exact.takes(name)
    assert any(name.startswith(one) for one in names) == loose.takes(name)
