"""A Postgres of the campaigns' own: some of them crash it."""

from collections.abc import Iterator

import pytest

from tests.faults.world import Cluster


@pytest.fixture(scope="session")
def own_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("faults")) as cluster:
        yield cluster
