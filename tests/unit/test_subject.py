"""Which event a change of a source or folder is, and what is left of it when commands told their parts."""

from uuid import UUID, uuid4

import pytest

from mirrord.domain.event import Change, Claim, EventType, Subject, SubjectSort, event_types_of, remove_claimed

TALKS, GARDEN = uuid4(), uuid4()


def source(name: str = "Ana", folder: UUID | None = None) -> Subject:
    return Subject(SubjectSort.SOURCE, name, folder, f"Sources/{name}.md")


def folder(name: str = "Talks", above: UUID | None = None) -> Subject:
    return Subject(SubjectSort.FOLDER, name, above, f"Sources/{name}")


CASE = Subject(SubjectSort.CASE, "R1", None, "Cases/R1.md")


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        (None, source(), [EventType.SOURCE_IMPORTED]),
        (source(), None, [EventType.SOURCE_DELETED]),
        (source(), source(), []),
        (source(), source("Bo"), [EventType.SOURCE_RENAMED]),
        (source(), source(folder=TALKS), [EventType.SOURCE_MOVED]),
        (source(), source("Bo", TALKS), [EventType.SOURCE_RENAMED, EventType.SOURCE_MOVED]),
        (None, folder(), [EventType.FOLDER_CREATED]),
        (folder(), None, [EventType.FOLDER_DELETED]),
        (folder(), folder("Words"), [EventType.FOLDER_RENAMED]),
        (folder(), folder(above=GARDEN), [EventType.PAGE_MOVED]),
        (folder(), source(), [EventType.FOLDER_DELETED, EventType.SOURCE_IMPORTED]),
        (None, CASE, [EventType.CASE_CREATED]),
        (CASE, None, []),
        (None, None, []),
    ],
)
def test_a_change_is_these_events(was: Subject | None, now: Subject | None, expected: list[EventType]) -> None:
    assert event_types_of(Change(was, now)) == expected


def test_what_comes_back_was_not_imported() -> None:
    assert event_types_of(Change(None, source(), revived=True)) == [EventType.PAGE_RESTORED]


def renamed(old: str, new: str) -> Claim:
    return Claim(uuid4(), old, new)


def test_a_claimed_change_is_no_event() -> None:
    claim = renamed("Ana", "Bo")
    remaining, used = remove_claimed(Change(source(), source("Bo")), [claim])
    assert (event_types_of(remaining), list(used)) == ([], [claim.event])


def test_several_acts_that_became_one_change_are_followed() -> None:
    claims = [Claim(uuid4(), None, "Ana", is_creation=True), renamed("Ana", "Bo"), renamed("Bo", "Cy")]
    remaining, used = remove_claimed(Change(None, source("Cy", TALKS)), claims)
    assert (event_types_of(remaining), len(used)) == ([], 3)


def test_what_a_person_did_after_a_tool_is_left() -> None:
    remaining, used = remove_claimed(Change(source(), source("Cy")), [renamed("Ana", "Bo")])
    assert (event_types_of(remaining), remaining.was and remaining.was.name, len(used)) == (
        [EventType.SOURCE_RENAMED],
        "Bo",
        1,
    )


def test_an_act_that_begins_elsewhere_is_kept_for_its_own_change() -> None:
    remaining, used = remove_claimed(Change(source(), source("Bo")), [renamed("Bo", "Cy")])
    assert (event_types_of(remaining), list(used)) == ([EventType.SOURCE_RENAMED], [])


def test_a_deletion_to_come_is_not_taken_for_a_move() -> None:
    remaining, used = remove_claimed(Change(source(), source(folder=TALKS)), [Claim(uuid4(), "Ana", None)])
    assert (event_types_of(remaining), list(used)) == ([EventType.SOURCE_MOVED], [])


def test_claims_beyond_what_is_wait_for_their_own_change() -> None:
    claims = [renamed("Ana", "Bo"), renamed("Bo", "Cy")]
    assert len(remove_claimed(Change(source(), source("Bo")), claims)[1]) == 1


def test_a_page_made_with_another_text_was_not_made_a_source() -> None:
    creation = Claim(uuid4(), None, "Ana", is_creation=True, digest="aa")
    assert event_types_of(remove_claimed(Change(None, source(), digest="bb"), [creation])[0]) == [
        EventType.SOURCE_IMPORTED
    ]
    assert event_types_of(remove_claimed(Change(None, source(), digest="aa"), [creation])[0]) == []
