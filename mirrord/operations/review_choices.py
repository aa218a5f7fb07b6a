"""What a person chooses of a change set: from names of pages and blocks to a choice."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from mirrord.db.review_rows import StoredReview
from mirrord.domain.review import ChangePreview, ReviewChoice, clashes_of
from mirrord.errors import Refused, Stale, UserError
from mirrord.merge.carried_choice import carry_choice
from mirrord.merge.changed_blocks import ChangedBlock, changed_blocks
from mirrord.merge.linked_parts import find_separated

_MAX_NAMED = 10  # pages in an error


class Clashing(Refused):
    """Pages of the accepted part of a review cannot be applied. clashes: why, by path."""

    def __init__(self, review: StoredReview, clashes: Mapping[str, str]) -> None:
        pages = [f"{path} {reason}" for path, reason in sorted(clashes.items())]
        overflow = f"; and {len(pages) - _MAX_NAMED} more" if len(pages) > _MAX_NAMED else ""
        super().__init__(f"Nothing was accepted: {'; '.join(pages[:_MAX_NAMED])}{overflow}.")
        self.review, self.clashes = review, clashes


def blocks_of(change: ChangePreview) -> list[ChangedBlock]:
    """The changed blocks of a page that stays or comes; none of other files."""
    return changed_blocks(change.old or "", change.new) if change.new is not None else []


def choose_parts(review: StoredReview, pages: Collection[str], blocks: Mapping[str, Collection[int]]) -> ReviewChoice:
    """
    The choice of these *pages* and these *blocks* by path; without any of both, of all that is not rejected yet.

    Raises UserError for what the change set does not change.
    """
    check_paths(review, [*pages, *blocks])
    if not pages and not blocks:
        return review.choice
    changes = {change.path: change for change in review.changes}
    for path, numbers in blocks.items():
        count = len(blocks_of(review.shown_change(changes[path])))
        if not numbers or not all(0 < number <= count for number in numbers):
            raise UserError(f"{path} has no such blocks to choose from; it has {count}.")
    chosen = {*pages, *blocks}
    return replace(
        review.choice,
        rejected=frozenset(changes.keys() - chosen),
        blocks={path: frozenset(numbers) for path, numbers in blocks.items()},
        texts=_only(review.choice.texts, chosen),
        unfitting=_only(review.choice.unfitting, chosen),
    )


def reject_pages(review: StoredReview, pages: Collection[str]) -> ReviewChoice:
    """The choice without these pages. Raises UserError as above."""
    check_paths(review, pages)
    remaining = {change.path for change in review.changes} - {*pages}
    texts, unfitting = _only(review.choice.texts, remaining), _only(review.choice.unfitting, remaining)
    return replace(review.choice, rejected=review.choice.rejected | {*pages}, texts=texts, unfitting=unfitting)


def edit_page(review: StoredReview, path: str, text: str) -> ReviewChoice:
    """The choice with a text of the person's for a page. Raises UserError if it has none."""
    check_paths(review, [path])
    change = next(change for change in review.changes if change.path == path)
    if change.new is None or (change.clash is not None and not change.is_mendable):
        reason = f": it {change.clash}" if change.clash is not None else ""
        raise UserError(f"{path} has no text that could be edited{reason}.")
    others = {change.path for change in review.changes} - {path}
    texts, unfitting = _only(review.choice.texts, others), _only(review.choice.unfitting, others)
    if text != change.new or change.clash is not None:
        texts[path] = text
    return replace(review.choice, rejected=review.choice.rejected - {path}, texts=texts, unfitting=unfitting)


def carry_text(earlier: StoredReview, review: StoredReview, path: str, text: str) -> ReviewChoice:
    """
    The choice in *review* with a text that was written while the change set was as *earlier*.

    It is merged with what others changed in the page meanwhile, and does not fit if they changed the same lines.
    """
    carried = carry_choice(edit_page(earlier, path, text), earlier.changes, review.changes)
    others = {change.path for change in review.changes} - {path}
    texts, unfitting = _only(review.choice.texts, others), _only(review.choice.unfitting, others)
    return replace(
        review.choice,
        rejected=review.choice.rejected - {path},
        texts=texts | _only(carried.texts, {path}),
        unfitting=unfitting | _only(carried.unfitting, {path}),
    )


def check_paths(review: StoredReview, paths: Collection[str]) -> None:
    """Raises UserError unless the change set changes all *paths*."""
    if unknown := {*paths} - {change.path for change in review.changes}:
        raise UserError(f"The change set does not change {', '.join(sorted(unknown))}.")


def check_accepted(review: StoredReview, choice: ReviewChoice) -> None:
    """
    Raises UserError if nothing is left to accept, Clashing if a page of it cannot be applied, Refused if links would
    lead nowhere.
    """
    paths: Sequence[str] = [change.path for change in review.changes]
    if paths and not {*paths} - choice.rejected:
        raise UserError("Every page of it is rejected; reject the change set instead.")
    if clashes := clashes_of(review.changes, choice):
        raise Clashing(review, clashes)
    if separated := find_separated(review.changes, choice):
        raise Refused(_separation_of(review, separated))


def _separation_of(review: StoredReview, separated: Sequence[tuple[str, str]]) -> str:
    sources = {change.path: change.source for change in review.changes}
    pairs = [f"links in {path} follow the move of {sources.get(move)} to {move}" for path, move in separated]
    overflow = f"; and {len(pairs) - _MAX_NAMED} more" if len(pairs) > _MAX_NAMED else ""
    reason = "; ".join(pairs[:_MAX_NAMED])
    return f"Nothing was accepted: {reason}{overflow}. They belong together: accept both or neither, with these links."


def check_same_blocks(earlier: StoredReview, review: StoredReview, paths: Iterable[str]) -> None:
    """Raises Stale if the blocks of these pages are others than they were when the change set was as *earlier*."""
    for path in paths:
        before, now = (
            [blocks_of(each.shown_change(change)) for change in each.changes if change.path == path]
            for each in (earlier, review)
        )
        if before != now:
            raise Stale(f"{path} changed since it was shown, and its blocks are others now; nothing was accepted.")


def _only(texts: Mapping[str, str], paths: Collection[str]) -> dict[str, str]:
    return {path: text for path, text in texts.items() if path in paths}
