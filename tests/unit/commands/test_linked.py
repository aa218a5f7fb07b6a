"""What a page links to, and what links to it."""

from pathlib import Path

import pytest

from mirrord.commands.failure import Failed
from mirrord.commands.linked import Linked, get_page_links
from mirrord.commands.session import Session
from tests.unit.commands.conftest import page


def test_get_page_links_returns_outgoing_and_incoming(session: Session, root: Path) -> None:
    page(
        root,
        "Home.md",
        "---\ntitle: Start\n---\n[[Alpha]] [[alpha]] [a](Work/Alpha.md) [[Home]] [[To come]] ![[map.png]]",
    )
    page(root, "Work/Alpha.md", "---\ntitle: The first\n---\n[[Start#part|home]] `[[Work]]`")
    page(root, "Work/assets/map.png", "")

    assert get_page_links(session, "Home").outgoing == [
        Linked("The first", "Work/Alpha.md"),
        Linked("To come", None),
        Linked("map.png", "Work/assets/map.png"),
    ]
    assert get_page_links(session, "Home").incoming == [Linked("The first", "Work/Alpha.md")]
    assert get_page_links(session, "Work/Alpha").incoming == [Linked("Start", "Home.md")]
    assert get_page_links(session, "Work").incoming == []


def test_the_links_of_no_page_are_none(session: Session, root: Path) -> None:
    page(root, "Home.md", "")

    with pytest.raises(Failed, match="Page not found at path: Hom"):
        get_page_links(session, "Hom")
