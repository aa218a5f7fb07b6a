"""Which pages are sources."""

from mirrord.research.sources.source_kinds import SourceType, is_source, parse_source_type


def test_a_page_below_the_directory_is_a_source_if_it_says_so() -> None:
    assert is_source("Sources/Ana.md", "source", "Sources")
    assert is_source("Sources/2024/Ana/_index.md", " Source ", "Sources")
    assert not is_source("Sources/Ana.md", None, "Sources")
    assert not is_source("Sources/Ana.md", "case", "Sources")
    assert not is_source("Projects/Ana.md", "source", "Sources")
    assert not is_source("Sources.md", "source", "Sources")


def test_a_source_that_does_not_say_what_it_was_made_from_is_text() -> None:
    assert parse_source_type(None) is SourceType.TEXT
    assert parse_source_type("Audio") is SourceType.AUDIO
    assert parse_source_type("papyrus") is SourceType.UNKNOWN
