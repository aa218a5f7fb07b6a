"""Who speaks in a source: proposed, then marked as segments; again without doubling, beside what others marked."""

from pathlib import Path

import pytest

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.domain.approval import ABSENT_DIGEST
from mirrord.domain.entry import EntryId, digest_of
from mirrord.research.segments import segment_records
from mirrord.research.segments.segment import Segment
from mirrord.research.sources.source_kinds import number_of
from mirrord.research.speakers.speaker_commands import detect_speakers
from tests.unit.commands.conftest import events, page
from tests.unit.commands.test_sources import source

TALK = "# Talk\n\nAna: Did you bring it?\n\nBen: Yes.\n\nTwo of them.\n\nAna: Thank you: really.\n\nBen: Hm.\n"


def _spans(session: Session, entry: EntryId, body: str) -> list[tuple[str, str]]:
    return [
        (segment.label, body[segment.start : segment.end]) for segment in segment_records.segments_of(session, entry)
    ]


def test_every_turn_becomes_a_segment_labelled_with_its_speaker(root: Path, session: Session) -> None:
    entry = source(root, "Sources/Talk.md", TALK)

    detected = detect_speakers(session, number_of(entry))

    assert (detected.speakers, detected.count, detected.format_used) == (["Ana", "Ben"], 2, "colon")
    assert detected.occurrences == {"Ana": 2, "Ben": 2}
    assert _spans(session, entry, TALK) == [
        ("Ana", "Did you bring it?"),
        ("Ben", "Yes.\n\nTwo of them."),
        ("Ana", "Thank you: really."),
        ("Ben", "Hm."),
    ]
    assert {segment.created_by for segment in segment_records.segments_of(session, entry)} == {"agent:writer"}


def test_what_happened_is_told_by_an_event(root: Path, session: Session) -> None:
    entry = source(root, "Sources/Talk.md", TALK)
    detect_speakers(session, number_of(entry))
    ((kind, data),) = events(root)
    assert kind == "SpeakersDetected"
    assert (data["path"], data["format_used"], data["segments_count"]) == ("Sources/Talk.md", "colon", 4)
    assert data["page_id"] == str(entry)


def test_a_second_time_nothing_is_doubled_and_the_file_stays(root: Path, session: Session) -> None:
    entry = source(root, "Sources/Talk.md", TALK)
    detect_speakers(session, str(entry))
    file = root / f".records/segments/{entry}.json"
    before = file.read_bytes()

    detect_speakers(session, str(entry))

    assert file.read_bytes() == before


def test_only_its_own_segments_are_replaced(root: Path, session: Session) -> None:
    entry = source(root, "Sources/Talk.md", TALK)
    detect_speakers(session, str(entry))
    hers = [Segment("s", 8, 9, "Ana", "speaker", "human:eva"), Segment("c", 8, 20, "asking", "code", "human:eva")]
    with session.writing() as journal:
        segment_records.rewrite_segments(session, journal, entry, lambda old: [*old, *hers])
    fresh = TALK.replace("Ben: Hm.\n", "Carl: Hm.\n\nCarl: Ha.\n")
    page(root, "Sources/Talk.md", (root / "Sources/Talk.md").read_text().replace(TALK, fresh))

    detect_speakers(session, str(entry))

    segments = segment_records.segments_of(session, entry)
    assert [segment for segment in segments if segment.created_by == "human:eva"] == hers
    assert [segment.label for segment in segments if segment.created_by != "human:eva"] == [
        "Ana",
        "Ben",
        "Ana",
        "Carl",
        "Carl",
    ]


def test_a_preview_names_the_speakers_and_changes_nothing(root: Path, session: Session) -> None:
    entry = source(root, "Sources/Talk.md", TALK)

    preview = detect_speakers.preview(session, number_of(entry))

    assert preview.facts["speakers"] == ["Ana", "Ben"]
    assert (preview.facts["count"], preview.facts["format_used"]) == (2, "colon")
    assert preview.facts["occurrences"] == {"Ana": 2, "Ben": 2}
    assert preview.summary == "In the source 'Talk' 4 turns of 2 speakers would be marked."
    assert preview.lines[:3] == ("Ana: 2", "Ben: 2", "Ana | Did you bring it?")
    text = digest_of((root / "Sources/Talk.md").read_bytes()).hex()
    assert preview.bases == {"Sources/Talk.md": text, segment_records.segments_path(entry): ABSENT_DIGEST}
    assert segment_records.count_segments(session, entry) == 0
    assert not (root / ".records/events").exists()


def test_a_preview_says_how_many_are_replaced(root: Path, session: Session) -> None:
    entry = source(root, "Sources/Talk.md", TALK)
    detect_speakers(session, str(entry))
    assert detect_speakers.preview(session, str(entry)).summary.endswith(", in place of 4 marked before.")


def test_what_a_preview_says_depends_on_the_segments_there_are(root: Path, session: Session) -> None:
    entry = source(root, "Sources/Talk.md", TALK)
    before = detect_speakers.preview(session, str(entry))
    detect_speakers(session, str(entry))
    after = detect_speakers.preview(session, str(entry))
    record = segment_records.segments_path(entry)
    assert (before.bases[record], after.bases[record]) == (ABSENT_DIGEST, digest_of((root / record).read_bytes()).hex())


def test_where_nobody_speaks_there_is_no_format(root: Path, session: Session) -> None:
    entry = source(root, "Sources/Essay.md", "It is simple: nobody speaks.\n")
    detected = detect_speakers(session, str(entry))
    assert (detected.speakers, detected.format_used, detected.segments_count) == ([], None, 0)


@pytest.mark.parametrize("act", [detect_speakers, detect_speakers.preview])
def test_a_source_that_is_none_and_an_unknown_format_are_refused(session: Session, act: object) -> None:
    assert callable(act)
    with pytest.raises(Failed) as failed:
        act(session, 12)
    assert failed.value.code == "SPEAKERS_NOT_DETECTED/NOT_FOUND"
    with pytest.raises(Failed) as failed:
        act(session, 12, "round")
    assert failed.value.code == "INVALID_FORMAT"
