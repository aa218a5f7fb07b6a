"""What a stream tells whom."""

from uuid import uuid4

from mirrord.auth.sign_in import Session
from mirrord.web.live_updates import Event, event_for

COUNTED = Event("attention", {"conflicts": 1, "halts": 2, "problems": 3, "approvals": 4})


def test_a_guest_is_not_told_how_much_waits_for_operators() -> None:
    guest, operator = Session("a", "gil", uuid4()), Session("b", "ada", None)
    assert event_for(guest, COUNTED).data == {"conflicts": 1, "halts": 0, "problems": 3, "approvals": 0}
    assert event_for(operator, COUNTED) is COUNTED
    page = Event("page", {"halts": 2})
    assert event_for(guest, page) is page
