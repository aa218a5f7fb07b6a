"""What links where, in trees that change: as the links stand now, in pages as they are now."""

from pathlib import Path

import pytest
from hypothesis import given

from mirrord.domain.entry import TenantId, new_id
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.page_links import links_of, possible_targets_of
from mirrord.mirror.read.link_index import LinkIndex, Target
from mirrord.mirror.read.name_index import NameChange
from mirrord.mirror.read.page_catalogue import Catalogue
from mirrord.mirror.tree.tenant_tree import Tree
from tests.unit.codec.documents import markdown


class Linked:
    """A tree and its links."""

    def __init__(self, root: Path, tree: Tree) -> None:
        self.root = root
        self.catalogue = Catalogue(tree, TenantId(new_id()))
        self.linkage = LinkIndex()

    def write(self, **pages: str) -> None:
        for path, text in pages.items():
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    def outgoing(self, path: str) -> list[tuple[str, str | None]]:
        targets: list[Target] = self.linkage.outgoing(self.catalogue.snapshot(), path)
        return [(target.written, target.path) for target in targets]

    def incoming(self, path: str) -> list[str]:
        return self.linkage.incoming(self.catalogue.snapshot(), path)

    def after(self, **moves: str) -> dict[str, str]:
        moving = self.linkage.plan_moves(self.catalogue.snapshot(), NameChange(moves))
        texts = {path: (self.root / path).read_text() for path in moving.touched}
        relinked = {path: moving.relink(path, PageText(text)).page.text for path, text in texts.items()}
        return {path: new for path, new in relinked.items() if new != texts[path]}


@pytest.fixture
def linked(root: Path, tree: Tree) -> Linked:
    return Linked(root, tree)


def test_links_of_every_kind_are_followed(linked: Linked) -> None:
    linked.write(
        **{
            "Home.md": "[[Alpha]] [[The second]] [b](Work/Beta.md) ![[map.png]] [[Nowhere]] [[B2|x]] [h](#p)",
            "Work/Alpha.md": "",
            "Work/Beta.md": "---\ntitle: The second\naliases: [B2]\n---\n",
            "Work/assets/map.png": "",
        }
    )

    assert linked.outgoing("Home.md") == [
        ("Alpha", "Work/Alpha.md"),
        ("The second", "Work/Beta.md"),
        ("Work/Beta.md", "Work/Beta.md"),
        ("map.png", "Work/assets/map.png"),
        ("Nowhere", None),
        ("B2", "Work/Beta.md"),
    ]
    assert linked.incoming("Work/Beta.md") == linked.incoming("Work/assets/map.png") == ["Home.md"]
    assert linked.incoming("Home.md") == []


def test_code_holds_no_links(linked: Linked) -> None:
    linked.write(**{"a.md": "`[[b]]`\n\n```\n[[b]]\n```\n", "b.md": "", "c.md": "[[b]]"})

    assert linked.outgoing("a.md") == []
    assert linked.incoming("b.md") == ["c.md"]


def test_a_folder_is_linked_to(linked: Linked) -> None:
    linked.write(**{"a.md": "[[Work]] [w](Work/)", "Work/b.md": ""})

    assert linked.outgoing("a.md") == [("Work", "Work"), ("Work/", "Work")]
    assert linked.incoming("Work") == ["a.md"]

    linked.write(**{"Work/_index.md": ""})
    assert linked.outgoing("a.md") == [("Work", "Work/_index.md"), ("Work/", "Work/_index.md")]


def test_what_changes_between_two_questions_is_seen(linked: Linked, root: Path) -> None:
    linked.write(**{"a.md": "[[b]]", "b.md": "", "c.md": ""})
    assert (linked.outgoing("a.md"), linked.incoming("b.md")) == ([("b", "b.md")], ["a.md"])

    linked.write(**{"a.md": "[[c]]"})
    assert (linked.outgoing("a.md"), linked.incoming("b.md"), linked.incoming("c.md")) == (
        [("c", "c.md")],
        [],
        ["a.md"],
    )

    (root / "c.md").rename(root / "d.md")
    assert (linked.outgoing("a.md"), linked.incoming("d.md")) == ([("c", None)], [])

    linked.write(**{"b.md": "---\ntitle: c\n---\n"})
    assert (linked.outgoing("a.md"), linked.incoming("b.md")) == ([("c", "b.md")], ["a.md"])

    linked.write(**{"e/c.md": "", "b.md": "---\naliases: c\n---\n"})
    assert linked.outgoing("a.md") == [("c", "e/c.md")]

    linked.write(**{"f/c.md": ""})
    assert linked.outgoing("a.md") == [("c", None)]  # either


def test_pages_whose_links_a_move_changes_are_named(linked: Linked) -> None:
    linked.write(
        **{
            "Home.md": "[[Work/Alpha]] [[Alpha]]",
            "Work/Alpha.md": "[b](Beta.md) ![[assets/map.png]]",
            "Work/Beta.md": "[a](Alpha.md) `[[Work/Alpha]]`",
            "Work/assets/map.png": "",
            "Other.md": "[[Beta]]",
        }
    )

    assert linked.after(**{"Work/Alpha.md": "Old/Alpha.md"}) == {
        "Home.md": "[[Old/Alpha]] [[Alpha]]",
        "Work/Alpha.md": "[b](../Work/Beta.md) ![[assets/map.png]]",
        "Work/Beta.md": "[a](../Old/Alpha.md) `[[Work/Alpha]]`",
    }
    assert linked.after(**{"Work/Beta.md": "Work/Beta/_index.md"}) == {
        "Work/Alpha.md": "[b](Beta/_index.md) ![[assets/map.png]]",
        "Work/Beta.md": "[a](../Alpha.md) `[[Work/Alpha]]`",
    }


def test_files_that_are_not_synced_are_still_reached(linked: Linked) -> None:
    linked.write(**{"Work/a.md": "[d](data.csv) [e](../e.csv) [f](f.csv)", "Work/data.csv": "", "e.csv": ""})

    moved = linked.after(**{"Work/a.md": "a.md"})
    assert moved == {"Work/a.md": "[d](Work/data.csv) [e](e.csv) [f](f.csv)"}
    assert linked.after(Work="Old/Work") == {"Work/a.md": "[d](data.csv) [e](../../e.csv) [f](f.csv)"}


def test_a_page_that_would_take_a_name_away_is_noticed(linked: Linked) -> None:
    linked.write(**{"a.md": "[[Note]]", "x/Note.md": "", "b.md": ""})

    assert linked.after(**{"b.md": "Note.md"}) == {"a.md": "[[x/Note]]"}


@given(markdown)
def test_no_link_is_missed_by_the_quick_look(text: str) -> None:
    possible = {target for _, target in possible_targets_of(text)}

    assert {link.target for link in links_of(PageText(text)) if link.target} <= possible
