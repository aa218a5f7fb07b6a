"""`python -m tests.cluster`: a cluster of two workers in a temporary directory, and the proofs of the smoke on it."""

import shutil
import sys
import tempfile
from pathlib import Path

from tests.smoke.__main__ import CLUSTER_PROOFS, prove
from tests.support.citus_nodes import citus_directory, is_citus_built, served_cluster
from tests.support.cluster_mirrord import ClusterMirrord


def main() -> int:
    """The exit code: 0 only if every proof holds."""
    if not is_citus_built():
        print(f"Citus is not built in {citus_directory()}; `.ci/run` builds it", file=sys.stderr)
        return 1
    directory = Path(tempfile.mkdtemp(prefix="mirrord-cluster-"))
    with served_cluster(directory / "nodes") as cluster:
        cluster.create_database("mirrord")
        with ClusterMirrord(directory / "installation", cluster, "mirrord") as mirrord:
            holds = prove(mirrord, CLUSTER_PROOFS)
    if holds:
        shutil.rmtree(directory)
        return 0
    print(f"Kept: {directory}; the daemon's log is {mirrord.log}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
