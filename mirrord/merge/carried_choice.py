"""What a person chose of a change set, carried over to what the change set would do now. Pure."""

from collections.abc import Mapping, Sequence

from mirrord.domain.review import ChangePreview, ReviewChoice
from mirrord.merge.edit_merge import merge

Texts = dict[str, str]


def carry_choice(choice: ReviewChoice, before: Sequence[ChangePreview], now: Sequence[ChangePreview]) -> ReviewChoice:
    """
    The choice about the changes *before*, as one about the changes *now*.

    Rejected pages stay rejected, and texts of the person's are merged with what others changed in the pages since.
    Blocks may have other numbers now; their choice is not carried over.
    """
    texts, unfitting = _carry_texts(choice, {change.path: change for change in before}, now)
    return ReviewChoice(choice.rejected & {change.path for change in now}, {}, texts, unfitting)


def _carry_texts(
    choice: ReviewChoice, earlier: Mapping[str, ChangePreview], now: Sequence[ChangePreview]
) -> tuple[Texts, Texts]:
    texts, unfitting = Texts(), Texts()
    for change in now:
        text, previous = choice.text_of(change.path), earlier.get(change.path)
        if text is None:
            continue
        fitting = change.path in choice.texts and previous is not None
        merged = _merge_text(previous.old, change.old, text) if fitting and previous is not None else None
        if merged is None:
            unfitting[change.path] = text
        else:
            texts[change.path] = merged
    return texts, unfitting


def _merge_text(before: str | None, now: str | None, text: str) -> str | None:
    """*text*, written over the page as it was *before*, over the page *now*; None: it does not fit."""
    if before == now:
        return text
    return merge(before, now, text) if before is not None and now is not None else None
