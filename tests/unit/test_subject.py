"""Which event a change of a source or folder is, and what is left of it when commands told their parts."""

from uuid import UUID, uuid4

import pytest

from mirrord.domain.event import Type
from mirrord.domain.subject import Change, Claim, Sort, Subject, types_of, unclaimed

TALKS, GARDEN = uuid4(), uuid4()


def source(name: str = "Ana", folder: UUID | None = None) -> Subject:
    return Subject(Sort.SOURCE, name, folder, f"Sources/{name}.md")


def folder(name: str = "Talks", above: UUID | None = None) -> Subject:
    return Subject(Sort.FOLDER, name, above, f"Sources/{name}")


CASE = Subject(Sort.CASE, "R1", None, "Cases/R1.md")


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        (None, source(), [Type.SOURCE_IMPORTED]),
        (source(), None, [Type.SOURCE_DELETED]),
        (source(), source(), []),
        (source(), source("Bo"), [Type.SOURCE_RENAMED]),
        (source(), source(folder=TALKS), [Type.SOURCE_MOVED]),
        (source(), source("Bo", TALKS), [Type.SOURCE_RENAMED, Type.SOURCE_MOVED]),
        (None, folder(), [Type.FOLDER_CREATED]),
        (folder(), None, [Type.FOLDER_DELETED]),
        (folder(), folder("Words"), [Type.FOLDER_RENAMED]),
        (folder(), folder(above=GARDEN), [Type.PAGE_MOVED]),
        (folder(), source(), [Type.FOLDER_DELETED, Type.SOURCE_IMPORTED]),
        (None, CASE, [Type.CASE_CREATED]),
        (CASE, None, []),
        (None, None, []),
    ],
)
def test_a_change_is_these_events(was: Subject | None, now: Subject | None, expected: list[Type]) -> None:
    assert types_of(Change(was, now)) == expected


def test_what_comes_back_was_not_imported() -> None:
    assert types_of(Change(None, source(), revived=True)) == [Type.PAGE_RESTORED]


def renamed(old: str, new: str) -> Claim:
    return Claim(uuid4(), old, new)


def test_a_claimed_change_is_no_event() -> None:
    claim = renamed("Ana", "Bo")
    rest, used = unclaimed(Change(source(), source("Bo")), [claim])
    assert (types_of(rest), list(used)) == ([], [claim.event])


def test_several_acts_that_became_one_change_are_followed() -> None:
    claims = [Claim(uuid4(), None, "Ana", made=True), renamed("Ana", "Bo"), renamed("Bo", "Cy")]
    rest, used = unclaimed(Change(None, source("Cy", TALKS)), claims)
    assert (types_of(rest), len(used)) == ([], 3)


def test_what_a_person_did_after_a_tool_is_left() -> None:
    rest, used = unclaimed(Change(source(), source("Cy")), [renamed("Ana", "Bo")])
    assert (types_of(rest), rest.was and rest.was.name, len(used)) == ([Type.SOURCE_RENAMED], "Bo", 1)


def test_an_act_that_begins_elsewhere_is_kept_for_its_own_change() -> None:
    rest, used = unclaimed(Change(source(), source("Bo")), [renamed("Bo", "Cy")])
    assert (types_of(rest), list(used)) == ([Type.SOURCE_RENAMED], [])


def test_a_deletion_to_come_is_not_taken_for_a_move() -> None:
    rest, used = unclaimed(Change(source(), source(folder=TALKS)), [Claim(uuid4(), "Ana", None)])
    assert (types_of(rest), list(used)) == ([Type.SOURCE_MOVED], [])


def test_claims_beyond_what_is_wait_for_their_own_change() -> None:
    claims = [renamed("Ana", "Bo"), renamed("Bo", "Cy")]
    assert len(unclaimed(Change(source(), source("Bo")), claims)[1]) == 1


def test_a_page_made_with_another_text_was_not_made_a_source() -> None:
    made = Claim(uuid4(), None, "Ana", made=True, digest="aa")
    assert types_of(unclaimed(Change(None, source(), digest="bb"), [made])[0]) == [Type.SOURCE_IMPORTED]
    assert types_of(unclaimed(Change(None, source(), digest="aa"), [made])[0]) == []
