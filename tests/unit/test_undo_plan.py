"""What an undo does to an entry, from its versions alone."""

from dataclasses import replace
from uuid import UUID

import pytest

from mirrord.domain.entry import EntryId, Kind, digest_of
from mirrord.operations.undo_plan import (
    DELETED,
    EDITED,
    HOLDS,
    HOMELESS,
    MOVED,
    NOWHERE,
    TAKEN,
    TOUCHED,
    UNSETTLED,
    EntryHistory,
    EntryState,
    Slot,
    Step,
    Surroundings,
    UndoPlan,
    check_plan,
    plan_entries,
)

PAGE, OTHER, FOLDER = (EntryId(UUID(int=number)) for number in (1, 2, 3))
NOTHING_AROUND = Surroundings({}, {}, [FOLDER], {})
BASE = "one\n\ntwo\n\nthree\n"


def state(version: int, text: str | None = BASE, name: str = "Page", *, deleted: bool = False) -> EntryState:
    digest = digest_of(text.encode()) if text is not None else None
    return EntryState(version, is_deleted=deleted, name=name, digest=digest, text=text)


def history(*states: EntryState, chosen: set[int], kind: Kind = Kind.PAGE, entry: EntryId = PAGE) -> EntryHistory:
    return EntryHistory(entry, kind, states, chosen)


def step_of(*states: EntryState, chosen: set[int], kind: Kind = Kind.PAGE) -> Step:
    plan = plan_entries([history(*states, chosen=chosen, kind=kind)])
    assert plan.clashes == []
    (step,) = plan.steps
    return step


def clash_of(*states: EntryState, chosen: set[int]) -> str:
    plan = plan_entries([history(*states, chosen=chosen)])
    assert plan.steps == []
    (clash,) = plan.clashes
    return clash.reason


def test_an_edited_page_gets_its_earlier_text() -> None:
    step = step_of(state(1), state(2, "new\n"), chosen={2})
    assert (step.after.text, step.source, step.is_placed) == (BASE, 1, False)


def test_a_later_edit_elsewhere_stays() -> None:
    step = step_of(state(1), state(2, BASE.replace("one", "ONE")), state(3, "ONE\n\ntwo\n\nTHREE\n"), chosen={2})
    assert (step.after.text, step.source) == (BASE.replace("three", "THREE"), None)


def test_a_later_edit_of_the_same_passage_clashes() -> None:
    assert clash_of(state(1), state(2, "new\n"), state(3, "newer\n"), chosen={2}) == EDITED


def test_an_edit_in_between_stays_and_both_around_it_go() -> None:
    texts = [BASE, "ONE\n\ntwo\n\nthree\n", "ONE\n\nTWO\n\nthree\n", "ONE\n\nTWO\n\nTHREE\n"]
    states = [state(number, text) for number, text in enumerate(texts, 1)]
    assert step_of(*states, chosen={2, 4}).after.text == "one\n\nTWO\n\nthree\n"


def test_a_page_that_was_made_is_deleted() -> None:
    assert step_of(NOWHERE, state(1), state(2, "new\n"), chosen={1, 2}).after.is_deleted


@pytest.mark.parametrize("later", [state(2, "mine\n"), state(2, name="Mine")])
def test_a_page_that_was_made_and_touched_since_clashes(later: EntryState) -> None:
    assert clash_of(NOWHERE, state(1), later, chosen={1}) == TOUCHED


def test_a_deleted_page_lives_again_with_its_text_and_place() -> None:
    step = step_of(state(1), state(2, "edited\n"), state(3, "edited\n", deleted=True), chosen={2, 3})
    assert (step.after.is_deleted, step.after.text, step.is_placed) == (False, BASE, True)


def test_a_page_that_was_restored_since_stays_as_it_is() -> None:
    plan = plan_entries([history(state(1), state(2, deleted=True), state(3, "mine\n"), chosen={2})])
    assert plan == UndoPlan([], [])


def test_a_page_that_was_edited_and_is_deleted_since_clashes() -> None:
    assert clash_of(state(1), state(2, "new\n"), state(3, "new\n", deleted=True), chosen={2}) == DELETED


def test_a_moved_page_goes_back_and_keeps_a_later_text() -> None:
    step = step_of(state(1, name="Old"), state(2, name="New"), state(3, "mine\n", name="New"), chosen={2})
    assert (step.after.name, step.after.text, step.is_placed, step.source) == ("Old", "mine\n", True, 3)


def test_a_page_that_was_moved_elsewhere_since_clashes() -> None:
    assert clash_of(state(1, name="Old"), state(2, name="New"), state(3, name="Mine"), chosen={2}) == MOVED


def test_what_was_taken_back_already_needs_nothing() -> None:
    plan = plan_entries([history(state(1), state(2, "new\n"), state(3), chosen={2})])
    assert plan == UndoPlan([], [])


def test_a_text_that_is_being_written_clashes() -> None:
    now = EntryState(2, is_deleted=False, name="Page", text=None, is_settled=False)
    assert clash_of(state(1), now, chosen={2}) == UNSETTLED


def test_records_merge_their_values() -> None:
    texts = ["dir: a\npatterns: []\n", "dir: b\npatterns: []\n", "dir: b\npatterns: ['*.md']\n"]
    states = [state(number, text, "category/red") for number, text in enumerate(texts, 1)]
    step = step_of(*states, chosen={2}, kind=Kind.RECORD)
    assert step.after.text is not None
    assert ("dir: a" in step.after.text, "*.md" in step.after.text) == (True, True)


def test_attachments_do_not_merge() -> None:
    states = [EntryState(number, is_deleted=False, name="a", digest=digest_of(bytes([number]))) for number in (1, 2, 3)]
    assert plan_entries([history(*states, chosen={2}, kind=Kind.ATTACHMENT)]).clashes[0].reason == EDITED
    step = step_of(*states, chosen={2, 3}, kind=Kind.ATTACHMENT)
    assert (step.after.digest, step.source) == (states[0].digest, 1)


def _moved(entry: EntryId, now: str, after: str) -> UndoPlan:
    return plan_entries([history(state(1, name=after), state(2, name=now), chosen={2}, entry=entry)])


def test_a_name_that_another_page_has_now_clashes() -> None:
    slot: Slot = (Kind.PAGE, None, "old")
    checked = check_plan(_moved(PAGE, "New", "Old"), Surroundings({}, {slot: OTHER}, [], {}))
    assert (checked.steps, checked.clashes[0].reason) == ([], TAKEN)


def test_two_pages_swap_their_names() -> None:
    steps = [*_moved(PAGE, "B", "A").steps, *_moved(OTHER, "A", "B").steps]
    holders: dict[Slot, EntryId] = {(Kind.PAGE, None, "a"): OTHER, (Kind.PAGE, None, "b"): PAGE}
    assert check_plan(UndoPlan(steps, []), Surroundings({}, holders, [], {})).steps == steps


def test_a_page_does_not_return_into_a_folder_that_was_purged() -> None:
    inside = EntryState(1, is_deleted=False, parent=OTHER, name="Page", digest=digest_of(b""), text="")
    outside = EntryState(2, is_deleted=False, name="Page", digest=digest_of(b""), text="")
    plan = plan_entries([history(inside, outside, chosen={2})])
    assert check_plan(plan, NOTHING_AROUND).clashes[0].reason == HOMELESS


def test_a_page_that_holds_others_now_stays() -> None:
    plan = plan_entries([history(NOWHERE, state(1), chosen={1})])
    checked = check_plan(plan, Surroundings({PAGE: {OTHER}}, {}, [], {}))
    assert (checked.steps, checked.clashes[0].reason) == ([], HOLDS)


def test_a_folder_that_was_made_for_the_pages_goes_with_them() -> None:
    folder = EntryState(1, is_deleted=False, name="Folder")
    plan = plan_entries([history(NOWHERE, state(1), chosen={1})])
    emptied = check_plan(plan, Surroundings({FOLDER: {PAGE}}, {}, [], {FOLDER: folder}))
    assert [step.entry for step in emptied.steps] == [PAGE, FOLDER]
    shared = check_plan(plan, Surroundings({FOLDER: {PAGE, OTHER}}, {}, [], {FOLDER: folder}))
    assert [step.entry for step in shared.steps] == [PAGE]


def test_a_page_gets_the_name_of_its_file_back_unless_its_directory_still_holds_something() -> None:
    leaf = EntryState(1, is_deleted=False, name="Page", digest=digest_of(b""), text="", index=False)
    plan = plan_entries([history(leaf, replace(leaf, version=2, index=True), chosen={2})])
    (step,) = plan.steps
    assert (step.becomes_leaf, step.after.index, step.is_placed) == (True, False, False)
    assert check_plan(plan, Surroundings({}, {}, set(), {})).steps == [step]
    assert check_plan(plan, Surroundings({PAGE: {OTHER}}, {}, set(), {})).steps == []


def test_a_file_name_that_was_not_noted_stays() -> None:
    noted = EntryState(2, is_deleted=False, name="Page", digest=digest_of(b""), text="", index=True)
    assert plan_entries([history(replace(noted, version=1, index=None), noted, chosen={2})]).steps == []
