"""docs/design/sync.md, "Start of a tree": whose tree is this?"""

from uuid import UUID

import pytest

from mirrord.domain.entry import MirrorId, TenantId
from mirrord.mirror.tree_marker import Marker
from mirrord.sync.decisions.tree_history import Circumstances, KnownMirror, Start, StartDecision, decide_start

TENANT, STRANGER = TenantId(UUID(int=1)), TenantId(UUID(int=2))
MIRROR, OTHER = MirrorId(UUID(int=3)), MirrorId(UUID(int=4))
MARKER = Marker("acme", TENANT, MIRROR)
FOREIGN = Marker("globex", STRANGER, OTHER)


def known(
    mirror: MirrorId = MIRROR, host: str | None = "here", root: str | None = "/tree", *, leased: bool = False
) -> KnownMirror:
    return KnownMirror(mirror, host, root, leased)


def seen(*, carries: bool | None = None, recognised: float = 0.0, current: bool = False) -> Circumstances:
    return Circumstances(TENANT, "here", "/tree", carries, recognised, current)


def test_rule_1_a_tree_that_matches_its_row_goes_on() -> None:
    assert decide_start(MARKER, [known(OTHER, "there"), known()], seen()) == StartDecision(
        Start.RESUME, MIRROR, adopting=False
    )


def test_rule_1_holds_whoever_had_the_lease() -> None:
    assert decide_start(MARKER, [known(leased=True)], seen()).start is Start.RESUME


@pytest.mark.parametrize("row", [known(root="/old"), known(host="there")])
def test_rule_2_a_tree_whose_old_root_no_longer_carries_its_id_was_moved(row: KnownMirror) -> None:
    assert decide_start(MARKER, [row], seen(carries=False)) == StartDecision(Start.MOVED, MIRROR, adopting=False)


def test_rule_2_a_tree_whose_old_root_still_carries_its_id_is_a_copy_with_a_new_id() -> None:
    assert decide_start(MARKER, [known(root="/old")], seen(carries=True)) == StartDecision(
        Start.COPIED, None, adopting=True
    )


@pytest.mark.parametrize(("carries", "leased"), [(None, False), (None, True), (False, True)])
def test_rule_2_where_it_cannot_be_seen_a_person_decides(carries: bool | None, leased: bool) -> None:
    decision = decide_start(MARKER, [known(root="/old", leased=leased)], seen(carries=carries))
    assert (decision.start, decision.mirror) == (Start.HALT, None)
    assert "/old" in decision.sentence


@pytest.mark.parametrize(
    "row", [known(host="there"), known(host="there", root="/old"), known(host="there", leased=True)]
)
def test_rule_2_a_tree_of_another_host_with_the_counters_of_its_row_was_moved(row: KnownMirror) -> None:
    assert decide_start(MARKER, [row], seen(current=True)) == StartDecision(Start.MOVED, MIRROR, adopting=False)


@pytest.mark.parametrize(
    ("row", "current"),
    [(known(host="there"), False), (known(host="there", root="/old", leased=True), True)],
    ids=["behind its row", "while its original is mirrored"],
)
def test_rule_2_any_other_tree_of_another_host_waits_for_a_person(row: KnownMirror, current: bool) -> None:
    assert decide_start(MARKER, [row], seen(current=current)).start is Start.HALT


@pytest.mark.parametrize("others", [[], [known(OTHER, "there")], [known(OTHER, "here", "/another")]])
def test_rule_3_neither_id_nor_row_makes_a_new_mirror_that_deletes_nothing(others: list[KnownMirror]) -> None:
    assert decide_start(None, others, seen()) == StartDecision(Start.NEW, None, adopting=True)


def test_an_id_the_database_does_not_know_is_kept_and_nothing_is_deleted() -> None:
    assert decide_start(MARKER, [], seen()) == StartDecision(Start.NEW, MIRROR, adopting=True)


@pytest.mark.parametrize("marker", [None, FOREIGN])
@pytest.mark.parametrize("recognised", [0.5, 1.0])
def test_rule_4_a_tree_that_lost_its_id_is_known_by_half_of_its_paths(marker: Marker | None, recognised: float) -> None:
    decision = decide_start(marker, [known()], seen(recognised=recognised))
    assert decision == StartDecision(Start.RECLAIM, MIRROR, adopting=True)


@pytest.mark.parametrize("marker", [None, FOREIGN])
def test_rule_5_a_tree_that_is_not_the_one_that_was_here_stops(marker: Marker | None) -> None:
    decision = decide_start(marker, [known()], seen(recognised=0.49))
    assert (decision.start, decision.mirror) == (Start.HALT, None)
    assert decision.sentence


def test_rule_5_a_tree_of_another_tenant_stops() -> None:
    decision = decide_start(FOREIGN, [], seen())
    assert decision.start is Start.HALT
    assert "another tenant" in decision.sentence
