"""Which twin a file is a copy of, by every piece of evidence."""

from dataclasses import replace
from uuid import UUID

import pytest

from mirrord.domain.entry import EMPTY_DIGEST, Base, EntryId, Kind, Place, TenantId, id_of_path
from mirrord.mirror.tree.tree_layout import Spot
from mirrord.sync.observation.copied_files import twin_of
from mirrord.sync.observation.identity_evidence import EarlierState, FoundFile
from tests.unit.states import A, B

TENANT = TenantId(UUID(int=7))
CLAIMED = EntryId(UUID(int=9))
FOUND = FoundFile("D/Readme.md", Spot(Kind.PAGE, "D", "Readme"), B, None, (1, 1))
TWIN = Base(id_of_path(TENANT, FOUND.path), Kind.PAGE, "D/Readme (2).md", Place(None, "Readme (2)"), 1, A, None)


def test_the_page_that_was_made_of_the_path_is_the_twin() -> None:
    assert twin_of(FOUND, EarlierState([TWIN]), TENANT) == TWIN


def test_the_same_id_or_the_same_bytes_tell_it_too() -> None:
    claimed = replace(TWIN, entry=CLAIMED, claimed=str(CLAIMED))
    assert twin_of(replace(FOUND, claimed=str(CLAIMED)), EarlierState([claimed]), TENANT) == claimed
    alike = replace(TWIN, entry=CLAIMED, digest=B)
    assert twin_of(FOUND, EarlierState([alike]), TENANT) == alike


@pytest.mark.parametrize(
    "other",
    [
        replace(TWIN, entry=CLAIMED),
        replace(TWIN, entry=CLAIMED, digest=EMPTY_DIGEST),
        replace(TWIN, claimed=str(CLAIMED)),
        replace(TWIN, path="D/Readme.md", place=Place(None, "Readme")),
        replace(TWIN, path="E/Readme (2).md"),
        replace(TWIN, path="D/Readme (x).md", place=Place(None, "Readme (x)")),
        replace(TWIN, path="D/README (2).md", place=Place(None, "README (2)")),
        replace(TWIN, path="D/Readme (1).md", place=Place(None, "Readme (1)")),
        replace(TWIN, path=None),
        replace(TWIN, kind=Kind.FOLDER, path="D/Readme (2)"),
    ],
    ids=["a stranger", "empty", "another id", "in place", "elsewhere", "no number", "case", "one", "lost", "folder"],
)
def test_everything_else_is_no_twin(other: Base) -> None:
    assert (
        twin_of(
            replace(FOUND, digest=other.digest if other.digest == EMPTY_DIGEST else B), EarlierState([other]), TENANT
        )
        is None
    )


def test_a_twin_whose_file_is_gone_may_have_come_back_itself() -> None:
    memory = EarlierState([TWIN], missing_paths=frozenset({"D/Readme (2).md"}))
    assert twin_of(FOUND, memory, TENANT) is None


def test_an_attachment_is_a_copy_only_with_the_same_bytes() -> None:
    file = FoundFile("assets/a.png", Spot(Kind.ATTACHMENT, "", "a.png"), A, None, (1, 1))
    twin = replace(
        TWIN,
        entry=id_of_path(TENANT, file.path),
        kind=Kind.ATTACHMENT,
        path="assets/a (2).png",
        place=Place(None, "a (2).png"),
    )
    assert twin_of(file, EarlierState([twin]), TENANT) == twin
    assert twin_of(replace(file, digest=B), EarlierState([twin]), TENANT) is None
