"""What another program writes into `.mirrord` of one tenant ends nothing."""

from pathlib import Path

from tests.support.commands import Near
from tests.support.editors import save
from tests.support.harness import eventually

NESTED = b"[" * 60_000


def test_a_marker_that_is_nested_too_deep_is_made_again_by_a_running_daemon(tmp_path: Path, module_dsn: str) -> None:
    with Near(tmp_path / "installation", dsn=module_dsn) as mirrord:
        save(mirrord.file("First.md"), "# First\n")
        mirrord.up()
        marker = mirrord.file(".mirrord/id")
        before = marker.read_bytes()
        marker.write_bytes(NESTED)
        eventually(lambda: marker.read_bytes() == before, "the marker as it was")
        save(mirrord.file("Second.md"), "# Second\n")
        eventually(lambda: mirrord.page("Second.md"), "the row of a page that was written then")
