"""The change set of a connection: the same for all its changes, and none where no agent is at work."""

from mirrord.commands.core.connection_changes import ConnectionChanges, current_event_facts, using_changes


def test_without_a_connection_events_say_nothing_about_one() -> None:
    assert current_event_facts() == {}


def test_all_changes_of_a_connection_have_one_change_set_and_its_client() -> None:
    with using_changes(ConnectionChanges(), "claude-code"):
        first, second = current_event_facts(), current_event_facts()
    assert first == second
    assert first["client"] == "claude-code"


def test_two_connections_have_two_change_sets() -> None:
    assert ConnectionChanges().event_facts(None) != ConnectionChanges().event_facts(None)


def test_a_token_without_sessions_begins_another_one_after_a_pause() -> None:
    changes = ConnectionChanges(idle_seconds=-1.0)
    assert changes.event_facts(None) != changes.event_facts(None)


def test_an_unknown_client_is_not_named() -> None:
    assert set(ConnectionChanges().event_facts(None)) == {"change_set"}
