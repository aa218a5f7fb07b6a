"""The tools and commands of collections and categories are described as committed: a change is made on purpose."""

from tests.support.interface_transcript import PATH, write_transcript


def test_tools_and_commands_of_collections_are_described_as_committed() -> None:
    assert write_transcript() == PATH.read_text(encoding="utf-8"), (
        "If that is meant: python -m tests.support.interface_transcript"
    )
