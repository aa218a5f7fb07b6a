"""`python -m tests.smoke`: everything started in a temporary directory, and one line for each thing proved."""

import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.smoke import conflicts, edits, faults, places
from tests.support.harness import Mirrord

Proof = Callable[[Mirrord], None]

LONGEST = 120  # seconds that one proof may take


def everything_starts(mirrord: Mirrord) -> None:
    """Postgres from nothing, the schema, the tenant, its tree."""
    mirrord.up()


# One daemon goes through all of them in this order: what ends it or its Postgres comes last.
PROOFS: tuple[Proof, ...] = (
    edits.a_new_file_becomes_a_row,
    edits.an_edited_file_changes_its_row,
    edits.an_edited_row_changes_only_its_own_lines_of_the_file,
    edits.an_inserted_row_becomes_a_file,
    places.a_renamed_and_moved_file_keeps_its_id,
    places.a_renamed_and_moved_row_keeps_its_id,
    places.a_deleted_file_deletes_its_row,
    places.the_file_of_a_deleted_row_lands_in_the_trash,
    conflicts.edits_of_both_sides_at_once_are_merged,
    conflicts.both_texts_of_the_same_line_can_be_found,
    faults.nothing_is_lost_when_the_daemon_is_killed_amid_200_edits,
    faults.a_killed_daemon_leaves_no_worker_behind,
    faults.nothing_is_lost_while_postgres_is_stopped_for_5_seconds,
    faults.flush_and_check_agree,
    faults.a_stopped_daemon_leaves_nothing_running,
)
# Those that neither end the embedded Postgres nor look at it: a cluster has none.
CLUSTER_PROOFS = (*(proof for proof in PROOFS if proof.__module__ != faults.__name__), faults.flush_and_check_agree)


def main() -> int:
    """The exit code: 0 only if every proof holds."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended then too
    signal.signal(signal.SIGALRM, _took_too_long)
    directory = Path(tempfile.mkdtemp(prefix="mirrord-smoke-"))
    with Mirrord(directory) as mirrord:
        hold = prove(mirrord, PROOFS)
    if hold:
        shutil.rmtree(directory)
        return 0
    print(f"Kept: {directory}; the daemon's log is {mirrord.log}")
    return 1


def prove(mirrord: Mirrord, proofs: Sequence[Proof]) -> bool:
    """Start *mirrord*, print a line for each of *proofs*, and return whether all hold."""
    began = time.monotonic()
    held_count = 0
    if _holds(everything_starts, mirrord):
        held_count = 1 + sum(_holds(proof, mirrord) for proof in proofs)
    print(f"{held_count} of {1 + len(proofs)} hold, in {time.monotonic() - began:.0f} s")
    return held_count == 1 + len(proofs)


def _holds(proof: Proof, mirrord: Mirrord) -> bool:
    sentence = proof.__name__.replace("_", " ")
    began = time.monotonic()
    signal.alarm(LONGEST)
    try:
        proof(mirrord)
    except Exception as seen:  # whatever goes wrong, the other proofs are still worth their lines
        print(f"FAILED  {sentence}: {seen}", flush=True)
        if not isinstance(seen, AssertionError):
            traceback.print_exc()
        return False
    finally:
        signal.alarm(0)
    print(f"ok      {sentence} ({time.monotonic() - began:.1f} s)", flush=True)
    return True


def _took_too_long(*_: object) -> None:
    raise AssertionError(f"not done after {LONGEST} s")


if __name__ == "__main__":
    sys.exit(main())
