"""A Postgres of the campaigns' own: some of them crash it."""

from collections.abc import Iterator

import pytest

from tests.faults.world import Cluster
from tests.support.clusters import place_cluster


@pytest.fixture(scope="session")
def own_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    directory = tmp_path_factory.mktemp("faults")
    place_cluster(directory)
    with Cluster(directory) as cluster:
        yield cluster
