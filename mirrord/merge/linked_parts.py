"""Parts of a change set that belong together: a page moves, and links in other pages follow it. Pure."""

from collections.abc import Collection, Sequence

from mirrord.domain.review import ChangePreview, ReviewChoice
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.page_links import links_of
from mirrord.merge.changed_blocks import select_blocks


def find_separated(changes: Sequence[ChangePreview], choice: ReviewChoice) -> list[tuple[str, str]]:
    """Each page whose links would lead nowhere, as a move that they follow is accepted without it or not at all."""
    accepted = {change.path for change in changes} - choice.rejected
    return [(change.path, move) for change in changes for move in _moves_without(change, choice, accepted)]


def _moves_without(change: ChangePreview, choice: ReviewChoice, accepted: Collection[str]) -> list[str]:
    """The moves for which the page would have links that lead nowhere; its text is parsed once for all of them."""
    lost = {move: links["old" if move in accepted else "new"] for move, links in change.followed.items()}
    if not any(lost.values()) or not _may_lead_nowhere(change, choice):
        return []
    text = _text_after(change, choice)
    targets = {link.target for link in links_of(PageText(text))} if text is not None else None
    return [move for move, links in lost.items() if links and (targets is None or not targets.isdisjoint(links))]


def _may_lead_nowhere(change: ChangePreview, choice: ReviewChoice) -> bool:
    """Not in a text that the person wrote, and not in a rejected new page that clashes."""
    if change.path in choice.rejected:
        return not (change.clash and not change.old)
    return change.path not in choice.texts


def _text_after(change: ChangePreview, choice: ReviewChoice) -> str | None:
    """The text of a page if this choice is accepted; None: it is no text that can be shown."""
    if change.path in choice.rejected:
        return change.old
    if change.new is not None and change.path in choice.blocks:
        return select_blocks(change.old or "", change.new, choice.blocks[change.path])
    return change.new
