"""What was replaced is in the trash until it is a version, and nobody has it open."""

from datetime import timedelta

import pytest

from mirrord.domain.entry import EntryId, digest_of
from mirrord.mirror import replace, trash
from tests.system.entries import change
from tests.system.mirrors import Mirror


async def test_a_text_that_is_a_version_leaves_the_trash_and_one_that_is_none_stays(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror.write({"Page.md": "one\n"})
    await mirror.settle()
    (page,), sides = mirror.ids("Page"), mirror.engine.sides
    change(mirror.app, page, markdown="two\n")
    await mirror.settle()
    mirror.write({"Page.md": "seen by nobody\n"})
    seen = digest_of(b"seen by nobody\n")
    replace.write(sides.tree, sides.journal, "Page.md", b"three\n", entry=EntryId(page), over=seen)
    assert {one.label.expected for one in trash.contents_of(sides.tree)} == {digest_of(b"one\n"), seen}

    await mirror.engine.recovery.sweep_trash()
    assert len(trash.contents_of(sides.tree)) == 2
    monkeypatch.setattr(trash, "OF_VERSIONS", timedelta(0))
    await mirror.engine.recovery.sweep_trash()
    assert {one.label.expected for one in trash.contents_of(sides.tree)} == {seen}
