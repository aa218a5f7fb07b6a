"""The lines that say what commands did."""

from mirrord.commands.core.command_events import event_lines
from mirrord.commands.core.session import Session
from mirrord.domain.event import EventType, decode_event


def test_what_one_command_did_is_in_the_order_of_its_moments(session: Session) -> None:
    happened = [(EventType.PAGE_WRITTEN, {"path": f"{number}.md"}) for number in range(20)]

    _, text = event_lines(session, happened)

    recorded = [decode_event(line) for line in text.encode().splitlines()]
    assert sorted(recorded, key=lambda event: event.occurred_at) == recorded
    assert len({event.occurred_at for event in recorded}) == len(recorded)
