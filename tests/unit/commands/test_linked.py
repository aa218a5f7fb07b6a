"""What a page links to, and what links to it."""

from pathlib import Path

import pytest

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages.search_command import LinkEnd, get_page_links
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
        LinkEnd("The first", "Work/Alpha.md"),
        LinkEnd("To come", None),
        LinkEnd("map.png", "Work/assets/map.png"),
    ]
    assert get_page_links(session, "Home").incoming == [LinkEnd("The first", "Work/Alpha.md")]
    assert get_page_links(session, "Work/Alpha").incoming == [LinkEnd("Start", "Home.md")]
    assert get_page_links(session, "Work").incoming == []


def test_links_mean_pictures_beside_pages_where_these_are_attachments(session: Session, root: Path) -> None:
    page(root, "Daily/Monday.md", "![[photo.png]] ![a](near.png) ![[Board.canvas]]")
    for name in ("photo.png", "Daily/near.png", "Board.canvas"):
        page(root, name, "")
    assert [link.path for link in get_page_links(session, "Daily/Monday").outgoing] == [None, None, None]

    page(root, ".obsidian/app.json", "{}")
    assert [link.path for link in get_page_links(session, "Daily/Monday").outgoing] == ["photo.png", None, None]

    page(root, ".obsidian/app.json", '{"attachmentFolderPath": "./"}')
    paths = [link.path for link in get_page_links(session, "Daily/Monday").outgoing]
    assert paths == ["photo.png", "Daily/near.png", None]


def test_the_links_of_no_page_are_none(session: Session, root: Path) -> None:
    page(root, "Home.md", "")

    with pytest.raises(Failed, match="Page not found at path: Hom"):
        get_page_links(session, "Hom")
