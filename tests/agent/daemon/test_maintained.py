"""What the aggregator says of work on this node is kept in the form that the collector reads."""

from pathlib import Path

from agent.daemon.maintained import NAME, KeptMaintenance
from aggregator.wire import Maintained
from collectors.jobs.maintenance import Maintenance, told

NOW = 1_796_000_000.0


def kept(folder: Path, *said: Maintained | None) -> Maintenance:
    """Return what is read after these words, each of an agent that was started anew."""
    for word in said:
        keeping = KeptMaintenance(folder)
        keeping.begin("gpu-017")
        keeping.told(word)
        assert keeping.close(60.0)
    return told((folder / NAME).read_text("utf-8"), "gpu-017", NOW)


def test_its_word_reaches_the_collector(tmp_path: Path) -> None:
    """Who, why and until when; and that it is over."""
    word = Maintained(until=NOW + 60.0, reason="new fans", by="night-shift")
    during, after = kept(tmp_path, word), kept(tmp_path, None)

    assert (("night-shift", "new fans", NOW + 60.0), Maintenance(heard=True)) == (
        (during.by, during.reason, during.until),
        after,
    )


def test_before_the_node_has_a_name_nothing_is_kept(tmp_path: Path) -> None:
    """A file without a name would hold for whatever node the disk is put into."""
    keeping = KeptMaintenance(tmp_path)
    keeping.told(Maintained(until=NOW + 60.0))

    assert (True, []) == (keeping.close(60.0), list(tmp_path.iterdir()))
