"""JSON in mirrord's own files that is nested too deep, or is another one, is damaged, and ends no process."""

import json
from pathlib import Path
from uuid import uuid4

import pytest

from mirrord.domain.entry import Actor
from mirrord.errors import Damaged
from mirrord.mirror.draft import draft_store
from mirrord.mirror.draft.draft_manifest import MANIFEST_NAME
from mirrord.mirror.draft.draft_store import DraftFacts
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write import applied_plans, change_recovery, question_files, rename_plan

NESTED = b"[" * 60_000


def _put(root: Path, path: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_bytes(NESTED)


def test_plans_are_as_torn_ones() -> None:
    assert change_recovery.decode_plan(NESTED) is None
    assert rename_plan.decode_plan(NESTED) is None


def test_notes_of_applied_change_sets_are_none(tree: Tree, root: Path) -> None:
    _put(root, f"{applied_plans.APPLIED_PATH}/x.json")
    assert applied_plans.load_plans(tree, applied_plans.list_notes(tree)) == []


def test_a_change_set_without_readable_facts_is_none(tree: Tree, root: Path) -> None:
    draft = uuid4()
    _put(root, f"{draft_store.directory_of_draft(draft)}/{draft_store.FACTS_NAME}")
    assert draft_store.read_facts(tree, draft) is None


def test_an_actor_whose_last_look_cannot_be_read_never_looked(tree: Tree, root: Path) -> None:
    actor = Actor("agent", "tester")
    question_files.write_look(tree, actor, {"a": "b"})
    (look,) = (root / question_files.LOOKS_FOLDER).iterdir()
    look.write_bytes(NESTED)
    assert question_files.read_look(tree, actor) == {}


@pytest.mark.parametrize("damage", [{"begun_at": "once"}, {"ended_at": []}, {"id": "x"}, {"id": str(uuid4())}])
def test_a_change_set_with_facts_of_another_kind_is_none(tree: Tree, damage: dict[str, object]) -> None:
    draft = uuid4()
    facts = DraftFacts(str(draft), "A title", "agent", "tester", "owner", 1.0)
    draft_store.create_draft(tree, facts)
    assert draft_store.list_drafts(tree) == [facts]
    text = json.dumps(json.loads(facts.encode()) | damage)
    Path(tree.root, facts.directory, draft_store.FACTS_NAME).write_text(text)
    assert draft_store.list_drafts(tree) == []


@pytest.mark.parametrize("text", [NESTED + b"\n", b"[]\n", b"7\n", b'{"path": "a"}\n', b"{\n"], ids=range(5))
def test_a_manifest_that_cannot_be_read_is_damaged(tree: Tree, text: bytes) -> None:
    facts = DraftFacts(str(uuid4()), "A title", "agent", "tester", "owner", 1.0)
    draft_store.create_draft(tree, facts)
    Path(tree.root, facts.directory, MANIFEST_NAME).write_bytes(text)
    with pytest.raises(Damaged):
        draft_store.open_draft_tree(tree, facts)
