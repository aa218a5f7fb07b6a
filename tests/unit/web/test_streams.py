"""What a stream tells whom."""

from mirrord.auth.roles import Role
from mirrord.web.live_updates import Event, event_for

COUNTED = Event("attention", {"conflicts": 1, "halts": 2, "problems": 3, "approvals": 4})


def test_a_guest_is_not_told_how_much_waits_for_operators() -> None:
    page = Event("page", {"halts": 2})
    for role in (Role.READER, Role.WRITER):
        assert event_for(role, COUNTED).data == {"conflicts": 1, "halts": 0, "problems": 3, "approvals": 0}
        assert event_for(role, page) is page
    assert event_for(Role.OPERATOR, COUNTED) is COUNTED
