"""Change sets that were applied to files and are not in rows yet: which of them a look met, and how long they wait."""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from mirrord.domain.entry import EntryId
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write import applied_plans
from mirrord.mirror.write.applied_plans import AppliedPlan
from mirrord.mirror.write.change_recovery import MARK_NAME

MIN_RETRY_SECONDS = 0.03  # seconds until a change set that waits is looked at again
PATIENCE_SECONDS = 30.0  # seconds for which a change set waits as a whole for files and rows that others hold


@dataclass(frozen=True, slots=True)
class MetPlans:
    """
    Plans that share places, so that they are taken together.

    is_under_way: half of their files may be changed. waited_seconds: since the first look that met one of them.
    """

    plans: tuple[AppliedPlan, ...] = ()
    is_under_way: bool = False
    waited_seconds: float = 0.0

    @property
    def is_patient(self) -> bool:
        """Whether they may still wait for what others hold."""
        return self.waited_seconds < PATIENCE_SECONDS

    @property
    def retry_seconds(self) -> float:
        """Seconds until the next look while they wait; a dozen looks until patience ends."""
        return max(MIN_RETRY_SECONDS, self.waited_seconds / 2)

    @property
    def names(self) -> frozenset[str]:
        """The names of their notes."""
        return frozenset(plan.name for plan in self.plans)

    @property
    def paths(self) -> frozenset[str]:
        """All places that they change."""
        return frozenset[str]().union(*(plan.paths for plan in self.plans))

    @property
    def removed(self) -> frozenset[str]:
        """The files and directories that they remove."""
        return frozenset[str]().union(*(plan.removed for plan in self.plans))

    @property
    def approved_by(self) -> frozenset[str]:
        """The requests that a person approved; none if one of the plans has none."""
        requests = {plan.approved_by for plan in self.plans}
        return frozenset() if None in requests else frozenset(filter(None, requests))

    @property
    def entries(self) -> frozenset[EntryId]:
        """The entries of their files."""
        return frozenset[EntryId]().union(*(plan.entries for plan in self.plans))


NO_PLANS = MetPlans()


@dataclass(slots=True)
class WaitingPlans:
    """The plans of one tree that wait for rows. Its state may be lost: then their waits begin again."""

    tree: Tree
    _met_at: dict[str, float] = field(default_factory=dict)  # monotonic, by the name of the note

    def find_met(
        self, notes: Collection[str], paths: Collection[str], entries: Collection[EntryId], pass_plans: MetPlans
    ) -> MetPlans:
        """
        Find a plan among *notes* that changes *paths* or *entries*, and those that share places with it. Blocking.

        pass_plans: plans that count only if no other does. An unfinished plan is left out after some time: its
        files count as they are then.
        """
        now, loaded = time.monotonic(), applied_plans.load_plans(self.tree, notes)
        loaded.sort(key=lambda plan: plan.name in pass_plans.names)
        plans = _select_linked(loaded, frozenset(paths), frozenset(entries))
        waited_seconds = now - min((self._met_at.setdefault(plan.name, now) for plan in plans), default=now)
        under_way = {plan.name for plan in plans if applied_plans.is_under_way(self.tree, plan)}
        met = MetPlans(tuple(plans), bool(under_way), waited_seconds)
        if met.is_patient:
            return met
        settled = tuple(plan for plan in plans if plan.name not in under_way or self._is_complete(plan))
        return MetPlans(settled, is_under_way=False, waited_seconds=waited_seconds)

    def forget(self, plans: Sequence[AppliedPlan]) -> None:
        """Forget plans that rows have. Blocking."""
        for plan in plans:
            applied_plans.forget_plan(self.tree, plan.directory)
            self._met_at.pop(plan.name, None)

    def _is_complete(self, plan: AppliedPlan) -> bool:
        """Whether all steps of an unfinished plan are done."""
        return self.tree.stat(f"{plan.directory}/{MARK_NAME}") is not None


def _select_linked(
    plans: Sequence[AppliedPlan], paths: frozenset[str], entries: frozenset[EntryId]
) -> list[AppliedPlan]:
    """The first plan that changes *paths* or *entries*, and those that share places with it, or with one of these."""
    linked = [plan for plan in plans if plan.concerns(paths, entries)][:1]
    for plan in linked:  # it grows
        linked += [other for other in plans if other not in linked and other.concerns(plan.paths, plan.entries)]
    return linked
