"""Batches of renames, carried out on a tree in memory."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import permutations
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.entry import EntryId
from mirrord.domain.place import name_key
from mirrord.mirror.tree.tree_layout import parent_of
from mirrord.sync.writing.move_order import (
    FileSystemFacts,
    Key,
    RenamePlan,
    StepKind,
    WantedRename,
    find_landings,
    plan_renames,
    select_needed,
)

PARK = ".mirrord/tmp/engine"
NAMES = "abc"


def key(number: int) -> Key:
    return EntryId(UUID(int=number)), True


@dataclass
class Tree:
    """What is at each path; whatever is below a path moves along."""

    at: dict[str, str] = field(default_factory=dict)

    def taken(self, path: str) -> str:
        """What was at *path* and below, taken out; it has to be there."""
        assert path in self.at, f"nothing is at {path}"
        return path

    def rename(self, source: str, target: str) -> None:
        assert source in self.at, f"nothing is at {source}"
        assert target not in self.at, f"{target} is taken"
        assert not target.startswith(source + "/"), f"{source} cannot go below itself"
        above = parent_of(target)
        while above:
            assert not above.startswith(source + "/")
            assert above != source
            above = parent_of(above)
        self.at = {_moved(path, source, target): content for path, content in self.at.items()}

    def exchange(self, first: str, other: str) -> None:
        assert first in self.at
        assert other in self.at
        assert not first.startswith(other + "/")
        assert not other.startswith(first + "/")
        for source, target in ((first, "aside"), (other, first), ("aside", other)):
            self.at = {_moved(path, source, target): content for path, content in self.at.items()}


def _moved(path: str, source: str, target: str) -> str:
    return target + path[len(source) :] if path == source or path.startswith(source + "/") else path


def planned(tree: Tree, wishes: Iterable[WantedRename], *, exchanges: bool = True) -> RenamePlan:
    wishes = list(wishes)
    source = {wish.source: wish.key for wish in wishes}
    holders = {wish: source.get(path) for wish, path in find_landings(wishes).items() if path in tree.at}
    return plan_renames(wishes, holders, FileSystemFacts(PARK, exchanges))


def carried_out(tree: Tree, plan: RenamePlan) -> Tree:
    result = Tree(dict(tree.at))
    for step in plan.steps:
        if step.act is StepKind.EXCHANGE:
            result.exchange(step.source, step.target)
        else:
            result.rename(step.source, step.target)
            assert (step.act is StepKind.PARK) == (parent_of(step.target) == PARK)
            assert (step.act is StepKind.UNPARK) == (parent_of(step.source) == PARK)
    return result


def wishes_of(tree: Tree, after: dict[str, str]) -> list[WantedRename]:
    """What has to move so that *after* (what, and its new path) is so."""
    return select_needed(
        WantedRename(key(number), path, after[content])
        for number, (path, content) in enumerate(tree.at.items())
        if content in after
    )


@pytest.mark.parametrize("exchanges", [True, False])
@pytest.mark.parametrize("order", list(permutations("abcd")))
def test_any_permutation_of_names_comes_true(order: tuple[str, ...], exchanges: bool) -> None:
    tree = Tree({name: f"was {name}" for name in "abcd"})
    wishes = wishes_of(tree, {f"was {old}": new for old, new in zip("abcd", order, strict=True)})
    plan = planned(tree, wishes, exchanges=exchanges)
    assert plan.waiting == []
    assert carried_out(tree, plan).at == {new: f"was {old}" for old, new in zip("abcd", order, strict=True)}
    assert len(plan.steps) <= len(wishes) + sum(step.act is StepKind.PARK for step in plan.steps)


def test_two_names_are_exchanged_in_one_step() -> None:
    tree = Tree({"a": "A", "b": "B"})
    assert [step.act for step in planned(tree, wishes_of(tree, {"A": "b", "B": "a"})).steps] == [StepKind.EXCHANGE]


def test_of_a_longer_circle_one_alone_is_parked() -> None:
    tree = Tree({"a": "A", "b": "B", "c": "C"})
    acts = [step.act for step in planned(tree, wishes_of(tree, {"A": "b", "B": "c", "C": "a"})).steps]
    assert sorted(act.name for act in acts) == ["PARK", "RENAME", "RENAME", "UNPARK"]


def test_a_chain_begins_at_its_free_end() -> None:
    tree = Tree({str(number): f"was {number}" for number in range(300)})
    plan = planned(tree, wishes_of(tree, {f"was {number}": str(number + 1) for number in range(300)}))
    assert [step.source for step in plan.steps] == [str(number) for number in reversed(range(300))]


def test_a_target_that_something_else_holds_is_waited_for_by_all_that_depend_on_it() -> None:
    tree = Tree({"a": "A", "b": "B", "c": "C", "d": "D", "stays": "S", "in": "I", "free": "F"})
    after = {"A": "stays", "B": "a", "C": "a/c", "I": "b", "F": "elsewhere", "D": "free"}
    plan = planned(tree, wishes_of(tree, after))
    assert {wish.source for wish in plan.waiting} == {"a", "b", "in", "c"}
    assert carried_out(tree, plan).at == {
        "a": "A", "b": "B", "c": "C", "stays": "S", "in": "I", "elsewhere": "F", "free": "D",
    }  # fmt: skip


def test_a_directory_and_what_is_in_it_can_change_places() -> None:
    tree = Tree({"Out": "out", "Out/In": "in"})
    plan = planned(tree, wishes_of(tree, {"in": "Out", "out": "Out/In"}))
    assert carried_out(tree, plan).at == {"Out": "in", "Out/In": "out"}


def test_a_file_and_the_directory_of_its_children_move_or_wait_together() -> None:
    entry = EntryId(UUID(int=1))
    wishes = [WantedRename((entry, False), "W.md", "V.md"), WantedRename((entry, True), "W", "V")]
    plan = plan_renames(wishes, {(entry, True): None}, FileSystemFacts(PARK))
    assert (plan.steps, len(plan.waiting)) == ([], 2)


def test_where_case_is_ignored_another_spelling_takes_two_steps() -> None:
    wish = WantedRename(key(1), "plan.md", "PLAN.md")
    steps = plan_renames([wish], {wish.key: wish.key}, FileSystemFacts(PARK, fold=name_key)).steps
    assert [(step.act, step.target) for step in steps][1] == (StepKind.UNPARK, "PLAN.md")
    assert [step.act for step in steps] == [StepKind.PARK, StepKind.UNPARK]


def test_where_case_is_ignored_two_can_still_change_names() -> None:
    first, other = WantedRename(key(1), "a", "B"), WantedRename(key(2), "b", "A")
    plan = plan_renames(
        [first, other], {first.key: other.key, other.key: first.key}, FileSystemFacts(PARK, fold=name_key)
    )
    assert plan.waiting == []
    assert [step.act for step in plan.steps] == [
        StepKind.PARK,
        StepKind.RENAME,
        StepKind.UNPARK,
    ]  # exchanged, both would keep their case


def test_nothing_goes_below_a_directory_that_was_to_leave_and_cannot() -> None:
    tree = Tree({"a": "0", "a/a": "1", "b": "2", "c": "in the way"})
    after = {"0": "c", "1": "c/a", "2": "a/a"}  # into another directory of that name
    plan = planned(
        tree,
        [
            WantedRename(key(int(content)), path, after[content])
            for path, content in tree.at.items()
            if content in after
        ],
    )

    assert plan.steps == []
    assert len(plan.waiting) == 3


@st.composite
def rearranged(draw: st.DrawFn) -> tuple[Tree, dict[str, str]]:
    """A tree of directories, and another parent and name for some of them, without circles and doubles."""
    parents: dict[int, int | None] = {}
    names: dict[int, str] = {}
    for number in range(draw(st.integers(1, 7))):
        parents[number] = draw(st.sampled_from([None, *range(number)]))
        names[number] = draw(st.sampled_from(NAMES))
    return _tree(parents, names), _after(draw, parents, names)


def _tree(parents: dict[int, int | None], names: dict[int, str]) -> Tree:
    at: dict[str, str] = {}
    for number in parents:
        path = names[number] if parents[number] is None else f"{_path(parents, names, parents[number])}/{names[number]}"
        if path in at:
            names[number] = path = f"{names[number]}{number}"
            path = _path(parents, names, number)
        at[path] = str(number)
    return Tree(at)


def _path(parents: dict[int, int | None], names: dict[int, str], number: int | None) -> str:
    parts: list[str] = []
    while number is not None:
        parts.append(names[number])
        number = parents[number]
    return "/".join(reversed(parts))


def _after(draw: st.DrawFn, parents: dict[int, int | None], names: dict[int, str]) -> dict[str, str]:
    order = draw(st.permutations(list(parents)))
    new_parents: dict[int, int | None] = {}
    new_names: dict[int, str] = {}
    for place, number in enumerate(order):
        new_parents[number] = draw(st.sampled_from([None, *order[:place]]))
        new_names[number] = draw(st.sampled_from([names[number], *NAMES]))
    paths: dict[str, str] = {}
    for number in order:
        while (path := _path(new_parents, new_names, number)) in paths.values():
            new_names[number] += str(number)
        paths[str(number)] = path
    return paths


@given(rearranged(), st.booleans())
def test_whatever_is_moved_where_everything_arrives_and_nothing_is_ever_replaced(
    change: tuple[Tree, dict[str, str]], exchanges: bool
) -> None:
    tree, after = change
    plan = planned(tree, wishes_of(tree, after), exchanges=exchanges)
    assert plan.waiting == []
    assert {content: path for path, content in carried_out(tree, plan).at.items()} == after


@given(rearranged(), st.booleans(), st.data())
def test_where_something_stays_in_the_way_the_others_arrive_and_nothing_is_lost(
    change: tuple[Tree, dict[str, str]], exchanges: bool, data: st.DataObject
) -> None:
    tree, after = change
    staying = data.draw(st.sets(st.sampled_from(sorted(after))))
    wishes = [wish for wish in wishes_of(tree, after) if tree.at[wish.source] not in staying]
    plan = planned(tree, wishes, exchanges=exchanges)
    result = carried_out(tree, plan)
    assert sorted(result.at.values()) == sorted(tree.at.values())
    assert not any(path.startswith(PARK) for path in result.at)
