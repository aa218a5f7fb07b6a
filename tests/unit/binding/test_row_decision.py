"""What becomes of a row of an app and its page in mode `in`, where the app is right."""

from uuid import UUID

import pytest

from mirrord.binding.row_decision import Act, BoundEntry, decide_row
from mirrord.db.bindings.page_state import PageState
from mirrord.domain.entry import Digest, EntryId, digest_of

ENTRY = EntryId(UUID(int=7))
OLD, NEW = digest_of(b"old"), digest_of(b"new")
BOUND = BoundEntry("7", ENTRY, 3, OLD, "1")
SAME, EDITED = PageState(ENTRY, 3, False, None, "A", "a"), PageState(ENTRY, 4, False, None, "A", "b")
DELETED = PageState(ENTRY, 4, True, None, "A", "a")


@pytest.mark.parametrize(
    ("bound", "digest", "page", "act"),
    [
        (None, None, None, Act.NOTHING),
        (None, NEW, None, Act.WRITE),
        (None, NEW, SAME, Act.WRITE),  # a page of an earlier binding
        (None, NEW, DELETED, Act.WRITE),
        (None, None, SAME, Act.NOTHING),
        (BOUND, OLD, SAME, Act.NOTHING),
        (BOUND, NEW, SAME, Act.WRITE),
        (BOUND, OLD, EDITED, Act.TAKE_BACK),
        (BOUND, NEW, EDITED, Act.TAKE_BACK),
        (BOUND, OLD, DELETED, Act.TAKE_BACK),
        (BOUND, NEW, DELETED, Act.TAKE_BACK),
        (BOUND, OLD, None, Act.WRITE),
        (BOUND, None, SAME, Act.DELETE),
        (BOUND, None, EDITED, Act.DELETE),
        (BOUND, None, DELETED, Act.FORGET),
        (BOUND, None, None, Act.FORGET),
    ],
)
def test_each_case_has_its_act(
    bound: BoundEntry | None, digest: Digest | None, page: PageState | None, act: Act
) -> None:
    assert decide_row(bound, digest, page) is act
