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

    found = await probe_host(mirror, data)

    assert sorted(tmp_path.rglob("*")) == before
    assert (found.mirror.error, found.data.error, [one.path for one in found.trees]) == (None, None, [f"{mirror}/demo"])
    assert found.mirror.total > found.mirror.free > 0
    assert found.calls is not None
    assert found.calls == KernelCalls(openat2=True, exchange=True, leases=found.calls.leases)
    assert found.watching is not None
    assert found.watching.directories == 3
    assert found.watching.latency_seconds is not None
    assert found.readable_secrets == (str(data / "keys" / "signing.pem"),)
    assert found.can_search


async def test_a_mirror_that_is_missing_is_said_to_be(tmp_path: Path) -> None:
    found = await probe_host(tmp_path / "nowhere", tmp_path)
    assert found.mirror.error == "No such file or directory"
    assert (found.calls, found.watching, found.trees) == (None, None, ())


def test_the_file_system_is_that_of_the_nearest_mount() -> None:
    found = {place: file_system_of(Path(place), MOUNTS) for place in ("/", "/srv/x", "/srv/my tree/x", "/srv/later")}
    assert found == {"/": "ext4", "/srv/x": "tmpfs", "/srv/my tree/x": "nfs4", "/srv/later": "btrfs"}
