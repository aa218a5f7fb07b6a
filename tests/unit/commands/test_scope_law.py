"""A scope never leaks, whatever is changed through it, and nothing but links changes outside of what it lets write."""

import re
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirrord.commands import trust_gate
from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Gate, Session
from mirrord.commands.pages.page_listing import get_tree
from mirrord.domain.entry import Actor
from mirrord.domain.scope import Scope, parse_scope
from mirrord.mirror.tree.scoped_tree import ScopedTree
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import lineage, parent_of
from tests.support.laws import scale_examples
from tests.support.scoped_worlds import normalize_answer

_LINK = re.compile(r"\[\[.*?\]\]|\(.*?\)")
NAMES = ("A", "B", "C")

places = st.sampled_from(("A", "B", "A/B", "A/C", "B/C", "C", "A/B/C"))
files = st.one_of(
    places.map("{}.md".format), st.sampled_from(("A/_index.md", "B/_index.md", "A/assets/p.txt", "p.txt"))
)
texts = st.sampled_from(
    ("[[A]] [[B]]", "[b](B.md) [[C]]", "# Heading\n\n## Part\n\n[[B#Part]]", "![](assets/p.txt) [[A#Part]] [[C#Part]]")
)
trees = st.dictionaries(files, texts, min_size=4, max_size=9)
writable = st.lists(st.sampled_from(("A/**", "**", "**", "A/*", "B/**", "*.md", "C")), max_size=2)
readable = st.lists(st.sampled_from(("A", "B", "C/**", "A/B")), max_size=1)
denied = st.lists(st.sampled_from(("A/B", "B/C", "**/C", "C", "A/B/*", "B.md")), max_size=2)
scopes = st.builds(parse_scope, writable, readable, denied).filter(lambda scope: not scope.is_unlimited)
calls = st.one_of(
    st.tuples(st.just("write_page"), st.fixed_dictionaries({"path": places, "content": texts})),
    st.tuples(st.just("create_page"), st.fixed_dictionaries({"title": st.sampled_from(NAMES), "parent_path": places})),
    st.tuples(st.just("move_page"), st.fixed_dictionaries({"source_path": places, "destination_path": places})),
    st.tuples(st.just("move_page"), st.fixed_dictionaries({"source_path": places, "destination_path": st.just("A/")})),
    st.tuples(st.just("delete_page"), st.fixed_dictionaries({"path": places, "recursive": st.booleans()})),
    st.tuples(
        st.just("merge_pages"),
        st.fixed_dictionaries({"paths": st.lists(places, min_size=1, max_size=2), "into": places}),
    ),
    st.tuples(
        st.just("split_page"),
        st.fixed_dictionaries({"path": places, "level": st.just(2)}, optional={"parent_path": places}),
    ),
    st.tuples(
        st.just("rename_heading"),
        st.fixed_dictionaries({"path": places, "heading": st.just("Part"), "to": st.just("Section")}),
    ),
)


def _build(root: Path, pages: dict[str, str], directories: set[str]) -> Path:
    for directory in ("", *directories):
        (root / directory).mkdir(parents=True, exist_ok=True)
    for path, text in pages.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


def _play(root: Path, scope: Scope, tenant: UUID, steps: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    """The answers to the calls, and the tree after each."""
    session = Session(ScopedTree(Tree(root), scope), "demo", tenant, Actor("agent", "tester"), f"mcp-{uuid4().hex}")
    gate, answers = Gate(), list[Any]()
    try:
        for name, arguments in steps:
            try:
                answers.append(str(trust_gate.run(session, gate, name, arguments)))
            except Failed as failed:
                answers.append([failed.code, str(failed), failed.instruction])
            answers.append(str(get_tree(session, include_metadata=True)))
        return [normalize_answer(answer) for answer in answers]
    finally:
        session.close()


@given(trees, scopes, st.lists(calls, min_size=1, max_size=4))
@settings(max_examples=scale_examples(20), deadline=None)
def test_changes_through_a_scope_tell_and_touch_nothing_that_it_hides(
    tmp_path_factory: pytest.TempPathFactory,
    pages: dict[str, str],
    scope: Scope,
    steps: list[tuple[str, dict[str, Any]]],
) -> None:
    base, tenant = tmp_path_factory.mktemp("law"), uuid4()
    visible = {path: text for path, text in pages.items() if scope.can_read(path)}
    above = {directory for path in pages for directory in lineage(parent_of(path)) if scope.can_read(directory)}
    full, bare = _build(base / "full", pages, set()), _build(base / "bare", visible, above)

    assert _play(full, scope, tenant, steps) == _play(bare, scope, tenant, steps)
    for path, text in pages.items():
        if not scope.can_write(path):
            assert _LINK.sub("", (full / path).read_text(encoding="utf-8")) == _LINK.sub("", text)
