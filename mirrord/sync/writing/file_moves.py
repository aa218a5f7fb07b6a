"""Moves files: a batch of moves that rows ask for is planned together, carried out in steps, recorded."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass, field, replace

from mirrord.db.content import entry_states
from mirrord.db.content.entry_writes import Statement, run_statements
from mirrord.db.open_issues import Problem
from mirrord.domain.entry import Base, EntryId, File, Kind, Place, Row
from mirrord.domain.place import name_key
from mirrord.errors import Busy, Mounted, Refused, Stale, reason_of
from mirrord.mirror.seen_files import Index
from mirrord.mirror.tree.kernel import Stat
from mirrord.mirror.tree.tree_layout import (
    INDEX_FILE,
    by_depth,
    directory_of,
    page_path,
    parent_of,
    printable,
    spot_of_directory,
    spot_of_file,
)
from mirrord.mirror.write.rename_plan import Redo
from mirrord.mirror.write.tree_locks import lock_for
from mirrord.sync.decisions.entry_decision import Decision
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.writing.move_order import (
    FileSystemFacts,
    Key,
    RenamePlan,
    Step,
    StepKind,
    WantedRename,
    find_landings,
    plan_renames,
    select_needed,
)
from mirrord.sync.writing.shared_directories import release_content
from mirrord.sync.writing.target_paths import agreed_base, directory_above, moved_base, path_in
from mirrord.sync.writing.write_outcomes import Outcome


@dataclass(frozen=True, slots=True)
class _Errand:
    """
    One entry's move.

    target: the path where its file belongs, in its present form. apart: the directory of its name is a folder entry.
    """

    decision: Decision
    file: File
    row: Row
    base: Base
    target: str
    apart: bool

    @property
    def is_in_place(self) -> bool:
        """Whether its file is at its target, and only its parent changes."""
        return self.file.path == self.target

    @property
    def above(self) -> tuple[EntryId | None, str]:
        """Its parent, and the directory that the parent must have."""
        index = self.target.rpartition("/")[2] == INDEX_FILE
        return self.row.place.parent, directory_above(self.target, self.file.kind, index=index)

    def wishes(self, index: Index) -> Iterator[WantedRename]:
        """The renames it needs: of its directory, if it has one, and of its file, if that does not come along."""
        entry, source = self.row.entry, self.file.path
        if self.file.kind in (Kind.PAGE, Kind.FOLDER):
            old, new = directory_of(source, self.file.kind), directory_of(self.target, self.file.kind)
            owner = page_path("", old, index=True)  # beside `W/_index.md`, `W/` is not the directory of `W.md`
            if (owner == source or owner not in index) and not self.apart:
                yield WantedRename((entry, True), old, new)
                if source == old or (self.target[len(new) :] == source[len(old) :] and source.startswith(old + "/")):
                    return
        yield WantedRename((entry, False), source, self.target)


@dataclass(slots=True)
class _Walk:
    """
    The result of a plan.

    steps: done. failed: reasons by key of failed steps. barred: failed because of a mount. missing: files not found.
    unsure: as in Outcome.
    """

    plan: RenamePlan = field(default_factory=RenamePlan)
    steps: list[Step] = field(default_factory=list)
    failed: dict[Key, str] = field(default_factory=dict)
    barred: set[Key] = field(default_factory=set)
    missing: set[Key] = field(default_factory=set)
    unsure: set[str] = field(default_factory=set)


async def move_files(
    sides: Sides, decisions: Sequence[Decision], paths: Mapping[EntryId, str], outcome: Outcome
) -> None:
    """Rename files, and the directories that belong to them. paths: the target of each entry."""
    placed = [decision for decision in decisions if decision.state.entry in paths]
    outcome.later += [decision for decision in decisions if decision.state.entry not in paths]
    apart = await _select_beside_folders(sides, placed)
    errands = [
        _errand_of(decision, paths[decision.state.entry], apart=decision.state.entry in apart) for decision in placed
    ]
    walk = await asyncio.to_thread(
        _walk_steps, sides, [wish for errand in errands for wish in errand.wishes(sides.looker.index)]
    )
    with ExitStack() as unrecorded:
        unrecorded.callback(_take_back_steps, sides.looker.index, walk.steps)
        await _record_moves(sides, errands, walk, outcome)
        unrecorded.pop_all()


async def _select_beside_folders(sides: Sides, decisions: Sequence[Decision]) -> set[EntryId]:
    """Pages with a folder entry of the same name beside their file, which got it while the page was made."""
    files = [(decision.state.file, decision.state.entry) for decision in decisions]
    owners = {
        directory_of(file.path, Kind.PAGE): entry
        for file, entry in files
        if isinstance(file, File) and file.kind is Kind.PAGE
    }
    if not owners:
        return set()
    async with sides.database.transaction(sides.tenant) as connection:
        bases = await entry_states.load_bases(
            connection, sides.tenant, sides.mirror, entry_states.BaseKeys(list(owners))
        )
    folders = {base.path: base.entry for base in bases if base.kind is Kind.FOLDER}
    return {entry for path, entry in owners.items() if folders.get(path, entry) != entry}


def _errand_of(decision: Decision, target: str, *, apart: bool) -> _Errand:
    file, row, base = decision.state.file, decision.state.row, decision.state.base
    assert isinstance(file, File)
    assert row is not None
    assert base is not None
    if file.kind is not row.kind:  # a folder that will get its page, or the reverse: moved in the old form first
        above = directory_above(target, row.kind, index=row.place.index)
        target = path_in(above, file.kind, replace(row.place, index=file.place.index))
    return _Errand(decision, file, row, base, target, apart)


def _walk_steps(sides: Sides, wishes: Sequence[WantedRename]) -> _Walk:
    """Plan with the tree as it is, then do one step after the other; a failed step does not stop the others."""
    walk = _Walk()
    try:
        with lock_for(sides.tree, [wish.source for wish in wishes]):
            _plan_and_walk(sides, wishes, walk)
    except (Busy, Refused, OSError) as error:
        carried_out = {step.key for step in walk.steps}
        walk.failed |= {wish.key: reason_of(error) for wish in wishes if wish.key not in carried_out}
    return walk


def _plan_and_walk(sides: Sides, wishes: Sequence[WantedRename], walk: _Walk) -> None:
    tree, journal = sides.tree, sides.journal
    wishes = [wish for wish in wishes if _is_within_reach(sides, wish, walk)]
    sources = {wish.key: stat for wish in wishes if (stat := tree.stat(wish.source)) is not None}
    walk.missing = {wish.key for wish in wishes} - sources.keys()
    wishes = select_needed(wish for wish in wishes if wish.key in sources)
    holders, ignores_case = _find_holders(sides, wishes, sources)
    ground = FileSystemFacts(journal.path, tree.can_exchange, name_key if ignores_case else str)
    walk.plan = plan_renames(wishes, holders, ground)
    sides.check_lease()
    with _journal_steps(sides, walk.plan.steps, sources):
        for step in walk.plan.steps:
            try:
                _do_step(sides, step, sources[step.key])
            except (Stale, Refused, OSError) as error:
                walk.failed[step.key] = reason_of(error)
                walk.unsure |= {step.source, step.target} if isinstance(error, OSError) else set()
            else:
                walk.steps.append(step)
                _remove_empty_directory(sides, step)
        if walk.failed:
            journal.unpark_all()


def _is_within_reach(sides: Sides, wish: WantedRename, walk: _Walk) -> bool:
    """Whether nothing is mounted at source and target; else this wish alone fails."""
    try:
        for path in (wish.source, wish.target):
            sides.tree.stat(path)
    except Mounted as error:
        walk.failed[wish.key] = str(error)
        walk.barred.add(wish.key)
        return False
    return True


def _remove_empty_directory(sides: Sides, step: Step) -> None:
    """Remove the directory of a page that became a leaf, if it is empty."""
    spot = spot_of_file(step.source) or spot_of_directory(step.source)
    if step.act is not StepKind.RENAME or spot is None:
        return
    above = parent_of(step.source) if spot.index else spot.folder
    if not spot.index and page_path("", above) not in sides.looker.index:
        return
    with suppress(OSError, Refused):
        sides.tree.remove_directory(f"{above}/assets")
        if sides.tree.remove_directory(above):
            sides.looker.index.forget(above)


def _journal_steps(sides: Sides, steps: Sequence[Step], sources: Mapping[Key, Stat]) -> AbstractContextManager[None]:
    """Journal the steps if half of them would be worse than none, so that they are finished after a crash."""
    owners = Counter(entry for entry, _ in {step.key for step in steps})
    if all(step.act is StepKind.RENAME for step in steps) and max(owners.values(), default=0) < 2:
        return nullcontext()
    redos = [Redo(step.act.name, step.source, step.target, step.final, sources[step.key].inode) for step in steps]
    return sides.journal.planned_renames(redos)


def _find_holders(
    sides: Sides, wishes: Sequence[WantedRename], sources: Mapping[Key, Stat]
) -> tuple[dict[Key, Key | None], bool]:
    """The wishes whose target is occupied, with the holder; and whether the file system ignores case."""
    source_of = {wish.key: wish.source for wish in wishes}
    key_of = {(stat.device, stat.inode): key for key, stat in sources.items() if key in source_of}
    holders: dict[Key, Key | None] = {}
    ignores_case = False
    for key, path in find_landings(wishes).items():
        if (stat := sides.tree.stat(path)) is not None:
            holder = holders[key] = key_of.get((stat.device, stat.inode))
            if holder is not None and source_of[holder] != path and name_key(source_of[holder]) == name_key(path):
                ignores_case = True
    return holders, ignores_case


def _do_step(sides: Sides, step: Step, expected: Stat) -> None:
    tree, journal = sides.tree, sides.journal
    parked = step.act is StepKind.UNPARK
    stat = None if parked else tree.stat(step.source)
    if not parked and (stat is None or stat.inode != expected.inode):
        raise Stale(f"{printable(step.source)!r} is no longer what was there.")
    if step.act is StepKind.EXCHANGE:
        tree.exchange(step.source, step.target)
        sides.looker.index.exchange(step.source, step.target)
        return
    if step.act is StepKind.PARK:
        journal.park(step.source, step.target.rpartition("/")[2], step.final)
    elif parked:
        tree.make_directories(parent_of(step.target))
        try:
            journal.unpark(step.source.rpartition("/")[2], step.target)
        except FileExistsError:
            raise Stale(f"{printable(step.target)!r} exists already.") from None
    else:
        tree.make_directories(parent_of(step.target))
        tree.move(step.source, step.target)
    sides.looker.index.rename(step.source, step.target)


def _take_back_steps(index: Index, steps: Sequence[Step]) -> None:
    """Let *index* know the tree as before *steps*: the next scan finds moved files by their earlier paths."""
    for step in reversed(steps):
        if step.act is StepKind.EXCHANGE:
            index.exchange(step.source, step.target)
        else:
            index.rename(step.target, step.source)


async def _record_moves(sides: Sides, errands: Sequence[_Errand], walk: _Walk, outcome: Outcome) -> None:
    """Record the renames in the bases; entries whose wishes all came true agree with their rows."""
    outcome.unsure |= walk.unsure
    waiting = {wish.key: wish for wish in walk.plan.waiting}
    statements = [statement for step in walk.steps for statement in _repath_statements(sides, step)]
    arrived = await _directories_of_parents(sides, errands)
    known_parents = {None, *(parent for parent, _ in arrived), *(errand.row.entry for errand in errands)}
    folders: list[tuple[EntryId, str]] = []
    for errand in sorted(errands, key=lambda errand: by_depth(errand.target)):
        entry, index = errand.row.entry, sides.looker.index
        keys, wishes = {(entry, True), (entry, False)}, list(errand.wishes(index))
        if errand.is_in_place and errand.row.place.parent is not None and errand.above not in arrived:
            outcome.stale.append(errand.decision)  # its directory is another page's until its parent arrives there
        elif wishes[-1].key in walk.missing:
            outcome.stale.append(errand.decision)
        elif hindered := keys & waiting.keys():
            target = waiting[hindered.pop()].target
            _report_blocked(errand, f"something that is not about to move is at {printable(target)!r}.", outcome)
            holders = map(index.get, (target, page_path("", target, index=True)))
            outcome.hindered_by[entry] = {holder.entry for holder in holders if holder is not None}
        elif failed := keys & walk.failed.keys():
            outcome.barred |= {entry} if keys & walk.barred else set()
            _report_blocked(errand, walk.failed[failed.pop()], outcome)
        elif errand.row.place.parent not in known_parents:  # its place is agreed once that has the directory
            outcome.renamed += [(wish.source, wish.target) for wish in wishes]
            outcome.stale.append(errand.decision)
        else:
            agreed = _agreed_base(errand)
            statements += [sides.writer.clear_path_of_others(agreed), sides.writer.store_base(agreed)]
            outcome.carried_out.append(errand.decision)
            arrived.add((entry, directory_of(errand.target, errand.file.kind)))
            outcome.reformed |= {errand.target} if errand.file.kind is not agreed.kind else set()
            outcome.renamed += [(wish.source, wish.target) for wish in wishes]
            if errand.row.kind is errand.file.kind is Kind.FOLDER:
                folders.append((entry, errand.target))
    async with sides.database.transaction(sides.tenant, sides.fence) as connection:
        await run_statements(connection, statements)
        outcome.carried_along |= await release_content(connection, sides, folders)


async def _directories_of_parents(sides: Sides, errands: Sequence[_Errand]) -> set[tuple[EntryId | None, str]]:
    """The recorded parents of *errands* that do not move themselves, with their directories."""
    parents = {errand.row.place.parent for errand in errands} - {errand.row.entry for errand in errands}
    if not (unmoved := [parent for parent in parents if parent is not None]):
        return set()
    async with sides.database.transaction(sides.tenant) as connection:
        bases = await entry_states.load_bases(
            connection, sides.tenant, sides.mirror, entry_states.BaseKeys(entries=unmoved)
        )
    return {(base.entry, directory_of(base.path, base.kind)) for base in bases if base.path is not None}


def _report_blocked(errand: _Errand, why: str, outcome: Outcome) -> None:
    path, target = errand.file.path, errand.target
    sentence = f"{path!r} cannot move to {target!r} yet: {why}"
    outcome.troubles.append(Problem(path, "in-the-way", sentence, errand.row.entry))
    outcome.later.append(errand.decision)


def _repath_statements(sides: Sides, step: Step) -> list[Statement]:
    writer = sides.writer
    if step.act is not StepKind.EXCHANGE:
        return [writer.clear_paths(step.target), writer.replace_paths(step.source, step.target)]
    aside = f"{sides.journal.path}/exchanged"
    return [
        writer.replace_paths(step.source, aside),
        writer.replace_paths(step.target, step.source),
        writer.replace_paths(aside, step.target),
    ]


def _agreed_base(errand: _Errand) -> Base:
    file, row = errand.file, errand.row
    index = file.place.index if file.kind is not row.kind else row.place.index
    place = Place(row.place.parent, row.place.name, index)
    return moved_base(agreed_base(errand.base, file, row), file.kind, errand.target, place)
