"""The machine itself: what is asked of it anew, and what holds for a while."""

from pathlib import Path

from collectors.node.live import IDENTITY_S, Live

KERNEL = "proc/sys/kernel"


class Later(Live):
    """A node whose clock is put forward by hand."""

    passed = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.passed


def renamed(root: Path, name: str) -> None:
    """Give the node below *root* a name."""
    (root / KERNEL / "random").mkdir(parents=True, exist_ok=True)
    (root / KERNEL / "hostname").write_text(f"{name}\n")
    (root / KERNEL / "random" / "boot_id").write_text("0c1f6a52-7b1e-4f0d-9a77-3f1be2a9d4c8\n")


async def test_a_new_name_is_seen_after_half_a_minute(tmp_path: Path) -> None:
    """Who the node is holds for IDENTITY_S, so that each observation need not ask."""
    renamed(tmp_path, "gpu-017")
    node = Later(root=str(tmp_path))
    names = [(await node.identity()).node]
    renamed(tmp_path, "gpu-018")
    names.append((await node.identity()).node)
    node.passed = IDENTITY_S
    names.append((await node.identity()).node)
    await node.close()

    assert ["gpu-017", "gpu-017", "gpu-018"] == names
