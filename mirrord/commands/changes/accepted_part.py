"""The part of a change set that a person accepts: whole files, some of a page's blocks, or a text of the person's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from mirrord.commands.changes.change_previews import shown_texts
from mirrord.commands.changes.change_review import SettledChange, Settlement, settle_changes
from mirrord.commands.core.failure import Failed, invalid_argument
from mirrord.commands.core.session import Session
from mirrord.domain.review import UNFITTING, ReviewChoice
from mirrord.merge.changed_blocks import changed_blocks, select_blocks
from mirrord.mirror.draft import draft_changes
from mirrord.mirror.draft.draft_changes import DraftDirectories
from mirrord.mirror.draft.draft_tree import DraftTree
from mirrord.mirror.tree.tree_layout import lineage, parent_of

WHOLE = ReviewChoice()


@dataclass(frozen=True, slots=True)
class AcceptedPart:
    """
    What is applied. rejected: paths of what is not, also of pages accepted in part. full_texts: of those the whole text
    by path.
    """

    settlement: Settlement
    rejected: tuple[str, ...] = ()
    full_texts: Mapping[str, bytes] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def settled(self) -> Sequence[SettledChange]:
        """The changes that are applied."""
        return self.settlement.settled


def accept_part(session: Session, tree: DraftTree, choice: ReviewChoice) -> AcceptedPart:
    """The accepted part of the draft *tree*, on the tree of *session*. Raises Failed for what it does not change."""
    if choice.is_whole:
        return AcceptedPart(settle_changes(session, tree))
    if unknown := choice.unknown_paths([change.path for change in draft_changes.changes_of(tree)]):
        sentence = f"The change set does not change {', '.join(sorted(unknown))}."
        raise Failed("NOT_CHANGED", "not_found", sentence, "Show the change set for the paths that it changes.")
    settlement = settle_changes(session, tree, without=choice.rejected)
    _settle_texts(settlement, choice)
    chosen, full_texts = [], {}
    for settled in settlement.settled:
        path = settled.change.path
        if path in choice.texts:
            settled = replace(settled, data=choice.texts[path].encode())
        if path in choice.blocks:
            old, new = _texts_of(session, tree, settled)
            text = _selected_text(path, old, new, choice.blocks[path])
            if text != new:
                full_texts[path] = new.encode()
            settled = replace(settled, data=text.encode())
        chosen.append(settled)
    rejected = sorted({*choice.rejected, *full_texts})
    return AcceptedPart(replace(settlement, settled=chosen), tuple(rejected), full_texts)


def _settle_texts(settlement: Settlement, choice: ReviewChoice) -> None:
    """Let texts of the person's end the clashes of their pages. A page whose text does not fit clashes."""
    for path in settlement.unmerged.keys() & choice.texts.keys():
        settlement.settled.append(settlement.unmerged[path])
        del settlement.clashes[path]
    lost_texts = (
        choice.texts.keys() - {settled.change.path for settled in settlement.settled} - settlement.clashes.keys()
    )
    settlement.clashes |= dict.fromkeys(
        lost_texts, "is in the tree as the change set has it, but not as your text has it"
    )
    settlement.clashes |= dict.fromkeys(choice.unfitting.keys() - choice.texts.keys() - choice.rejected, UNFITTING)
    settlement.settled.sort(key=lambda settled: settled.change.path)


def directories_of_part(tree: DraftTree, part: AcceptedPart) -> DraftDirectories:
    """The directories that the part makes and removes: of a part only what its files need or leave."""
    directories = draft_changes.directories_of(tree)
    if not part.rejected:
        return directories
    needed = {above for settled in part.settled for above in lineage(parent_of(settled.change.path))}
    sources = [change.source for change in draft_changes.changes_of(tree) if change.path in part.rejected]
    staying = {above for source in sources if source is not None for above in lineage(parent_of(source))}
    return DraftDirectories(
        [path for path in directories.created if path in needed],
        [path for path in directories.removed if path not in staying],
    )


def _selected_text(path: str, old: str, new: str, numbers: frozenset[int]) -> str:
    count = len(changed_blocks(old, new))
    if not numbers or max(numbers) > count:
        advice = "Reject the page, or name blocks by the numbers that are shown."
        raise invalid_argument("NO_SUCH_BLOCK", f"{path} has the changed blocks 1 to {count}.", advice)
    return select_blocks(old, new, numbers)


def _texts_of(session: Session, tree: DraftTree, settled: SettledChange) -> tuple[str, str]:
    old, new = shown_texts(session, tree, settled)
    if new is None or (old is None and settled.current is not None):
        sentence = f"{settled.change.path} has no blocks to choose from."
        raise invalid_argument("NO_SUCH_BLOCK", sentence, "Accept or reject it as a whole.")
    return old or "", new
