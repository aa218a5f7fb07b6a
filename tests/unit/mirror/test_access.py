"""Who may write a file before must be able to write it after mirrord replaced it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mirrord.domain.entry import digest_of, new_id
from mirrord.errors import Refused
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write import replace
from mirrord.mirror.write.journal import Journal

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files to others")

NOBODY, OWNER, GROUP = 65534, 1234, 5678
AsNobody = Callable[[Callable[[], None]], None]


@pytest.fixture
def shared(tree: Tree, root: Path) -> Journal:
    """A journal in a root that nobody owns, with one page of somebody else."""
    root.chmod(0o777)
    journal = Journal(tree, "daemon")
    for path in (".mirrord", ".mirrord/tmp", ".mirrord/tmp/daemon"):
        os.chown(root / path, NOBODY, NOBODY)
    (root / "A.md").write_bytes(b"old")
    os.chown(root / "A.md", OWNER, GROUP)
    return journal


def put(tree: Tree, journal: Journal) -> None:
    replace.write(tree, journal, "A.md", b"new", replace.ExpectedFile(new_id(), digest_of(b"old")))


@pytest.mark.parametrize(("mode", "reason"), [(0o664, "group"), (0o644, "group"), (0o604, "owner")])
def test_a_page_whose_owner_would_lose_it_is_not_replaced(
    tree: Tree, shared: Journal, root: Path, as_nobody: AsNobody, mode: int, reason: str
) -> None:
    (root / "A.md").chmod(mode)

    def write() -> None:
        with pytest.raises(Refused, match=reason):
            put(tree, shared)

    as_nobody(write)
    assert (root / "A.md").read_bytes() == b"old"
    assert list((root / ".mirrord/tmp/daemon").iterdir()) == []


def test_a_page_everybody_may_write_is_replaced_by_another_owner(
    tree: Tree, shared: Journal, root: Path, as_nobody: AsNobody
) -> None:
    (root / "A.md").chmod(0o606)

    as_nobody(lambda: put(tree, shared))

    assert (root / "A.md").read_bytes() == b"new"
    assert (root / "A.md").stat().st_mode & 0o777 == 0o606
    assert (root / "A.md").stat().st_uid == NOBODY


def acl(*entries: tuple[int, int, int]) -> bytes:
    """(tag, permissions, id) as the kernel stores them: see acl(5) and linux/posix_acl_xattr.h."""
    return (2).to_bytes(4, "little") + b"".join(
        tag.to_bytes(2, "little") + rights.to_bytes(2, "little") + identifier.to_bytes(4, "little")
        for tag, rights, identifier in entries
    )


NO_ID = 0xFFFFFFFF
RIGHTS = acl((1, 6, NO_ID), (2, 6, OWNER), (4, 4, NO_ID), (0x10, 6, NO_ID), (0x20, 0, NO_ID))


def test_access_lists_are_kept_and_inherited(tree: Tree, root: Path) -> None:
    journal = Journal(tree, "daemon")
    (root / "A.md").write_bytes(b"old")
    try:
        os.setxattr(root / "A.md", "system.posix_acl_access", RIGHTS)
        os.setxattr(root, "system.posix_acl_default", RIGHTS)
    except OSError:
        pytest.skip("this file system has no access lists")

    put(tree, journal)
    replace.write(tree, journal, "B.md", b"new", replace.ExpectedFile(new_id(), None))

    assert os.getxattr(root / "A.md", "system.posix_acl_access") == RIGHTS
    assert os.getxattr(root / "B.md", "system.posix_acl_access") == RIGHTS
