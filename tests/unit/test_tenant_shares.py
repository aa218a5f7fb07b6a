"""Shares of tenants: even, complete, and reached in a few steps whatever was before."""

from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.tenant_shares import ShareChange, plan_share

PROCESSES = ("a#1", "a#2", "b#1", "b#2")


def settle(tenants: list[str], claims: dict[str, str], processes: list[str]) -> list[dict[str, str]]:
    """The claims after each round in which every process takes its step, until nothing changes."""
    rounds = [dict(claims)]
    while True:
        current = dict(rounds[-1])
        for process in processes:
            change = plan_share(tenants, current, processes, process)
            current = {name: holder for name, holder in current.items() if name not in change.released}
            current |= dict.fromkeys(change.claimed, process)
        if current == rounds[-1]:
            return rounds
        rounds.append(current)


@given(
    st.lists(st.sampled_from((*PROCESSES, None)), max_size=40),
    st.lists(st.sampled_from(PROCESSES), min_size=1, unique=True),
)
def test_every_tenant_is_worked_on_in_even_shares_after_three_rounds(
    holders: list[str | None], processes: list[str]
) -> None:
    tenants = [f"t{number:02}" for number in range(len(holders))]
    claims = {name: holder for name, holder in zip(tenants, holders, strict=True) if holder in processes and holder}
    rounds = settle(tenants, claims, processes)
    assert len(rounds) <= 4
    assert rounds[-1].keys() == set(tenants)
    shares = [list(rounds[-1].values()).count(process) for process in processes]
    assert max(shares) - min(shares) <= 1


def test_a_tenant_stays_where_it_is_when_the_shares_are_even() -> None:
    claims = {"x": "a#2", "y": "a#1", "z": "a#2"}
    assert settle(["x", "y", "z"], claims, ["a#1", "a#2"])[0] == claims
    assert plan_share(["x", "y"], {"x": "a#2", "y": "a#1"}, {"a#1", "a#2"}, "a#1") == ShareChange()


def test_what_an_ended_process_had_goes_to_those_that_live_and_nothing_else_moves() -> None:
    claims = {"u": "a#1", "v": "a#1", "w": "a#2", "x": "a#2"}  # what a#3 had is left out
    after = settle(["u", "v", "w", "x", "y", "z"], claims, ["a#1", "a#2"])[-1]
    assert claims.items() <= after.items()


def test_a_process_that_joins_gets_its_share_and_those_that_are_too_many_get_none() -> None:
    assert plan_share(["x", "y", "z"], dict.fromkeys("xyz", "a#1"), ["a#1", "a#2"], "a#1").released == ("z",)
    assert plan_share(["x"], {"x": "a#1"}, ["a#1", "a#2"], "a#2") == ShareChange()
    assert plan_share([], {}, ["a#1"], "a#1") == ShareChange()
