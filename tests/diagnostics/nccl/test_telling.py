"""What of a job's settings leaves the node."""

import re

from hypothesis import given
from hypothesis import strategies as st

from collectors.jobs.nccl import RankSettings, Setting
from diagnostics.nccl.telling import shown, told


def rank(**settings: str) -> RankSettings:
    """Return a rank with these settings."""
    return RankSettings(
        pid=1, job="88123", settings={name: Setting(value=v) for name, v in settings.items()}
    )


def test_what_all_ranks_share_is_told() -> None:
    """Names of NCCL's that must agree; what differs here, and all else, stays on the node."""
    ranks = [
        rank(NCCL_ALGO="Ring", NCCL_PROTO="LL", MASTER_ADDR="gpu-017", NCCL_DEBUG="INFO"),
        rank(NCCL_ALGO="Ring", NCCL_PROTO="Simple", MASTER_ADDR="gpu-017"),
    ]

    assert {"NCCL_ALGO": "Ring"} == told(ranks)


def test_a_path_is_told_as_a_number() -> None:
    """Two paths can be compared, and neither can be read."""
    one, other = "/home/example/lib/libnccl-net.so", "/opt/plugin/libnccl-net.so"

    assert (True, False, None) == (
        shown(one) == shown(str(one)),
        shown(one) == shown(other),
        re.search("example|opt|nccl", shown(one) + shown(other)),
    )


@given(st.text())
def test_what_is_told_is_one_short_word(value: str) -> None:
    """Whatever stands in the environment, no space, path or line leaves."""
    assert re.fullmatch(r"[A-Za-z0-9_.,:;=^+#-]{0,80}", shown(value), re.ASCII)
