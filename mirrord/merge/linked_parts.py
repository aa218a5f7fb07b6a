"""Parts of a change set that belong together: a page moves, and links in other pages follow it. Pure."""

from collections.abc import Sequence

from mirrord.domain.review import ChangePreview, ReviewChoice
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.page_links import links_of
from mirrord.merge.changed_blocks import select_blocks


def find_separated(changes: Sequence[ChangePreview], choice: ReviewChoice) -> list[tuple[str, str]]:
    """Each page whose links would lead nowhere, as a move that they follow is accepted without it or not at all."""
    accepted = {change.path for change in changes} - choice.rejected
    return [
        (change.path, move)
        for change in changes
        for move, links in change.followed.items()
        if _leads_nowhere(change, choice, links["old" if move in accepted else "new"])
    ]


def _leads_nowhere(change: ChangePreview, choice: ReviewChoice, links: Sequence[str]) -> bool:
    """Whether the page would have one of *links*, which lead nowhere then; never in a text that the person wrote."""
    is_rejected = change.path in choice.rejected
    if (
        not links
        or (change.path in choice.texts and not is_rejected)
        or (is_rejected and change.clash and not change.old)
    ):
        return False
    text = _text_after(change, choice)
    return text is None or not {link.target for link in links_of(PageText(text))}.isdisjoint(links)


def _text_after(change: ChangePreview, choice: ReviewChoice) -> str | None:
    """The text of a page if this choice is accepted; None: it is no text that can be shown."""
    if change.path in choice.rejected:
        return change.old
    if change.new is not None and change.path in choice.blocks:
        return select_blocks(change.old or "", change.new, choice.blocks[change.path])
    return change.new
