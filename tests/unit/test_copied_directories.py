"""Which files of a twin's directory a file of the copied directory is a copy or a save of."""

from dataclasses import replace
from uuid import UUID

import pytest

from mirrord.domain.entry import Base, EntryId, Kind, Place, TenantId, id_of_path
from mirrord.mirror.tree.tree_layout import Spot
from mirrord.sync.observation.copied_directories import find_saved
from mirrord.sync.observation.identity_evidence import EarlierState, FoundFile
from tests.unit.states import A, B

TENANT = TenantId(UUID(int=7))
OTHER = EntryId(UUID(int=9))
PAGE = FoundFile("plans/a.md", Spot(Kind.PAGE, "plans", "a"), B, None, (1, 1))
PICTURE = FoundFile("plans/assets/p.png", Spot(Kind.ATTACHMENT, "plans", "p.png"), B, None, (1, 2))
TARGET, PICTURE_TARGET = "plans (2)/a.md", "plans (2)/assets/p.png"
AT_TARGET = Base(OTHER, Kind.PAGE, TARGET, Place(None, "a"), 1, A, None)
PICTURE_AT_TARGET = Base(OTHER, Kind.ATTACHMENT, PICTURE_TARGET, Place(None, "p.png"), 1, B, None)


@pytest.mark.parametrize(
    "base",
    [
        AT_TARGET,
        replace(AT_TARGET, path="plans (2)/a/_index.md", place=Place(None, "a", index=True)),
        replace(AT_TARGET, entry=id_of_path(TENANT, PAGE.path), path="plans (2)/a (2).md", place=Place(None, "a (2)")),
        replace(AT_TARGET, entry=id_of_path(TENANT, TARGET), path="plans (2)/a (2).md", place=Place(None, "a (2)")),
        replace(AT_TARGET, digest=B, path="plans (2)/a (2).md", place=Place(None, "a (2)")),
    ],
    ids=["its path", "its other form", "made of the copy's path", "made of its path", "a number and the same bytes"],
)
def test_a_page_is_a_save_of_the_page_in_its_place(base: Base) -> None:
    assert find_saved(PAGE, TARGET, EarlierState([base]), TENANT) == base


@pytest.mark.parametrize(
    "base",
    [
        replace(AT_TARGET, claimed=str(OTHER)),
        replace(AT_TARGET, path="plans (2)/b.md", place=Place(None, "b"), digest=B),
        replace(AT_TARGET, path="plans (2)/a (2).md", place=Place(None, "a (2)")),
        replace(AT_TARGET, path="other (2)/a (2).md", place=Place(None, "a (2)"), digest=B),
    ],
    ids=["another id", "the same bytes elsewhere", "a number alone", "another directory"],
)
def test_other_pages_are_left_alone(base: Base) -> None:
    assert find_saved(PAGE, TARGET, EarlierState([base]), TENANT) is None


def test_what_is_lost_is_no_original() -> None:
    assert find_saved(PAGE, TARGET, EarlierState([AT_TARGET], missing_paths=frozenset({TARGET})), TENANT) is None


def test_an_attachment_must_be_equal() -> None:
    memory = EarlierState([PICTURE_AT_TARGET])
    assert find_saved(PICTURE, PICTURE_TARGET, memory, TENANT) == PICTURE_AT_TARGET
    assert find_saved(replace(PICTURE, digest=A), PICTURE_TARGET, memory, TENANT) is None
