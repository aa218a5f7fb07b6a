"""What a person chooses of a change set: from names of pages and blocks to a choice."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from mirrord.db.review_rows import StoredReview
from mirrord.domain.review import ChangePreview, ReviewChoice
from mirrord.errors import UserError
from mirrord.merge.changed_blocks import ChangedBlock, changed_blocks


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
        if path in review.choice.texts or not numbers or not all(0 < number <= count for number in numbers):
            raise UserError(f"{path} has no such blocks to choose from; it has {count}.")
    chosen = {*pages, *blocks}
    return replace(
        review.choice,
        rejected=frozenset(changes.keys() - chosen),
        blocks={path: frozenset(numbers) for path, numbers in blocks.items()},
        texts={path: text for path, text in review.choice.texts.items() if path in chosen},
    )


def reject_pages(review: StoredReview, pages: Collection[str]) -> ReviewChoice:
    """The choice without these pages. Raises UserError as above."""
    check_paths(review, pages)
    texts = {path: text for path, text in review.choice.texts.items() if path not in pages}
    return replace(review.choice, rejected=review.choice.rejected | {*pages}, texts=texts)


def edit_page(review: StoredReview, path: str, text: str) -> ReviewChoice:
    """The choice with a text of the person's for a page. Raises UserError if it has none."""
    check_paths(review, [path])
    change = next(change for change in review.changes if change.path == path)
    if change.new is None:
        raise UserError(f"{path} has no text that could be edited.")
    texts = {other: other_text for other, other_text in review.choice.texts.items() if other != path}
    if text != change.new:
        texts[path] = text
    return replace(review.choice, rejected=review.choice.rejected - {path}, texts=texts)


def check_paths(review: StoredReview, paths: Collection[str]) -> None:
    """Raises UserError unless the change set changes all *paths*."""
    if unknown := {*paths} - {change.path for change in review.changes}:
        raise UserError(f"The change set does not change {', '.join(sorted(unknown))}.")


def check_accepted(review: StoredReview, choice: ReviewChoice) -> None:
    """Raises UserError if nothing is left to accept."""
    paths: Sequence[str] = [change.path for change in review.changes]
    if paths and not {*paths} - choice.rejected:
        raise UserError("Every page of it is rejected; reject the change set instead.")
