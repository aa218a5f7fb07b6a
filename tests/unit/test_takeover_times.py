"""The configured times of a takeover: added up they leave a reserve below 20 seconds, and docs/scaling.md has them."""

from pathlib import Path

import pytest

from mirrord.daemon.engine_process import RETRY_SECONDS
from mirrord.daemon.process_child import LOOK_SECONDS, MAX_STOPPED_LOOKS, RESTART_PAUSES_SECONDS
from mirrord.daemon.tenant_claims import SETTLING_SECONDS
from mirrord.db.process_pool import EXPIRY_SECONDS, RENEWAL_SECONDS

TAKEOVER_SECONDS = 20.0
RESERVE_SECONDS = 5.0  # for the start of a process, its imports and the comparison of its tenants
GUIDE = Path(__file__).parents[2] / "docs/scaling.md"

NOTICED_SECONDS = {"killed, or out of memory": 0.0, "stopped": MAX_STOPPED_LOOKS * LOOK_SECONDS}
RESTART_SECONDS = {
    f"{how}, restart {number}": noticed + pause
    for how, noticed in NOTICED_SECONDS.items()
    for number, pause in enumerate(RESTART_PAUSES_SECONDS, start=1)
}
# A process that stopped keeps the lock of a tree until it is killed, so whoever claims the tree tries again meanwhile.
CLAIMED_SECONDS = RENEWAL_SECONDS + RETRY_SECONDS
BY_OTHERS_SECONDS = {
    **{how: max(noticed, EXPIRY_SECONDS) + CLAIMED_SECONDS for how, noticed in NOTICED_SECONDS.items()},
    "killed just after the start of the others": max(EXPIRY_SECONDS, SETTLING_SECONDS) + CLAIMED_SECONDS,
}


@pytest.mark.parametrize(("how", "seconds"), [*RESTART_SECONDS.items(), *BY_OTHERS_SECONDS.items()])
def test_the_configured_times_of_a_takeover_leave_a_reserve(how: str, seconds: float) -> None:
    print(f"{how}: {seconds:g} s")
    assert seconds + RESERVE_SECONDS <= TAKEOVER_SECONDS


def test_others_take_the_tenants_before_the_last_restart() -> None:
    """Else a process that ends again and again would have them back each time."""
    assert RESTART_PAUSES_SECONDS[-1] > EXPIRY_SECONDS + RENEWAL_SECONDS


def test_a_claim_outlasts_several_renewals_and_the_end_of_a_stopped_process() -> None:
    assert EXPIRY_SECONDS >= 3 * RENEWAL_SECONDS
    assert NOTICED_SECONDS["stopped"] < EXPIRY_SECONDS


def test_the_guide_has_these_times() -> None:
    pauses = ", ".join(f"{pause:g}" for pause in RESTART_PAUSES_SECONDS)
    rows = [
        f"| it is started again, the first to fourth time within two minutes | {pauses} | "
        f"{max(RESTART_SECONDS.values()):g} |",
        f"| the others take over | {EXPIRY_SECONDS:g} + {RENEWAL_SECONDS:g} + {RETRY_SECONDS:g} | "
        f"{BY_OTHERS_SECONDS['stopped']:g} |",
        f"| the same, within the others' first {SETTLING_SECONDS:g} seconds | "
        f"{SETTLING_SECONDS:g} + {RENEWAL_SECONDS:g} + {RETRY_SECONDS:g} | {max(BY_OTHERS_SECONDS.values()):g} |",
    ]
    assert [row for row in rows if row not in GUIDE.read_text(encoding="utf-8")] == []
