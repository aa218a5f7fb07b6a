"""Looking at the machine leaves nothing behind, and says what it saw."""

from pathlib import Path

from mirrord.domain.health_facts import KernelCalls
from mirrord.mirror.machine_probe import file_system_of, probe_host
from mirrord.mirror.process_setup import prepare_process

MOUNTS = """\
20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
21 20 0:40 / /srv/my\\040tree rw - nfs4 server:/ rw
22 20 0:41 / /srv rw - tmpfs tmpfs rw
23 22 0:42 / /srv/later rw - xfs /dev/sdb rw
24 20 0:43 / /srv/later rw - btrfs /dev/sdc rw
"""


async def test_a_machine_is_looked_at_and_left_as_it_was(tmp_path: Path) -> None:
    prepare_process()
    mirror, data = tmp_path / "mirror", tmp_path / "data"
    for directory in (mirror / "demo" / "Folder", data / "keys"):
        directory.mkdir(parents=True)
    (data / "keys" / "signing.pem").write_text("secret")
    (data / "keys" / "signing.pem").chmod(0o644)
    before = sorted(tmp_path.rglob("*"))

    facts = await probe_host(mirror, data)

    assert sorted(tmp_path.rglob("*")) == before
    assert (facts.mirror.error, facts.data.error, [tree.path for tree in facts.trees]) == (
        None,
        None,
        [f"{mirror}/demo"],
    )
    assert facts.mirror.total > facts.mirror.free > 0
    assert facts.calls is not None
    assert facts.calls == KernelCalls(openat2=True, exchange=True, leases=facts.calls.leases)
    assert facts.watching is not None
    assert facts.watching.directories == 3
    assert facts.watching.latency_seconds is not None
    assert facts.readable_secrets == (str(data / "keys" / "signing.pem"),)
    assert facts.can_search


async def test_a_mirror_that_is_missing_is_said_to_be(tmp_path: Path) -> None:
    facts = await probe_host(tmp_path / "nowhere", tmp_path)
    assert facts.mirror.error == "No such file or directory"
    assert (facts.calls, facts.watching, facts.trees) == (None, None, ())


def test_the_file_system_is_that_of_the_nearest_mount() -> None:
    file_systems = {
        place: file_system_of(Path(place), MOUNTS) for place in ("/", "/srv/x", "/srv/my tree/x", "/srv/later")
    }
    assert file_systems == {"/": "ext4", "/srv/x": "tmpfs", "/srv/my tree/x": "nfs4", "/srv/later": "btrfs"}
