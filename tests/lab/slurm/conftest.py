"""The cluster as a fixture: started once, and put in order before each test."""

from collections.abc import Iterator

import pytest

from tests.lab.slurm.cluster import Cluster


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Run a cluster for the tests of a module."""
    with Cluster(tmp_path_factory.mktemp("slurm")) as cluster:
        yield cluster


@pytest.fixture
def cluster(running: Cluster) -> Cluster:
    """Return the cluster without jobs, all nodes in service, with what the project installs."""
    running.install()
    running.clear()
    return running
