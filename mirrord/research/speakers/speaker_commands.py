"""The command that detects speakers and marks their turns as segments."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mirrord.commands.core import command_events
from mirrord.commands.core.command_plan import Plan, command
from mirrord.commands.core.failure import invalid_argument
from mirrord.commands.core.session import Session
from mirrord.commands.pages import page_writes
from mirrord.domain.approval import MAX_PREVIEW_LINES, Preview
from mirrord.domain.entry import new_id
from mirrord.domain.event import EventType
from mirrord.mirror.write.journal import Journal
from mirrord.research.segments import segment_records
from mirrord.research.segments.segment import SPEAKER, Segment, actor_text, place_segment
from mirrord.research.sources.source_listing import Reference, Source, read_holdings, source_text
from mirrord.research.speakers.speaker_labels import Detection, Format

DETECTED_KEY = "detected"  # key of segments made by this module, which replaces no others
_MAX_TURN_CHARACTERS = 60  # characters of a turn in a preview


@dataclass(frozen=True, slots=True)
class Speakers:
    """
    The speakers of a source.

    speakers: in the order of their first turns. count: of speakers. format_used: colon, bracket or brace; None without
    speakers. occurrences: turns by speaker. segments_count: number of new segments, one per turn.
    """

    speakers: list[str]
    count: int
    format_used: str | None
    occurrences: dict[str, int]
    segments_count: int


@dataclass(frozen=True, slots=True)
class _SpeakerDetection(Plan[Speakers]):
    """The turns detected in a source. body: the text of its *page*."""

    source: Source
    page: page_writes.Page
    body: str
    detection: Detection

    def preview(self, session: Session) -> Preview:
        summary, name, entry = _summary_of(self.detection), self.source.name, self.source.entry
        is_replacing = summary.count > 0
        replaced_count = sum(map(_is_detected, segment_records.segments_of(session, entry))) if is_replacing else 0
        facts = {"source_id": self.source.number, "name": name, "speakers": summary.speakers, "count": summary.count}
        facts |= {"format_used": summary.format_used, "occurrences": summary.occurrences}
        facts |= {"segments_count": summary.segments_count, "segments_replaced_count": replaced_count}
        bases = {self.page.path: self.page.digest.hex(), **segment_records.preview_base(session, entry)}
        if not is_replacing:
            return Preview(f"The source {name!r} has no speakers; nothing would change.", facts, (), bases)
        turns = "1 turn" if summary.segments_count == 1 else f"{summary.segments_count} turns"
        speakers = f"{summary.count} speaker{'' if summary.count == 1 else 's'}"
        ending = f", in place of {replaced_count} marked before." if replaced_count else "."
        sentence = f"In the source {name!r} {turns} of {speakers} would be marked{ending}"
        return Preview(sentence, facts, _preview_lines(self.body, self.detection), bases)

    def carry_out(self, session: Session, journal: Journal) -> Speakers:
        source, summary = self.source, _summary_of(self.detection)
        if not self.detection.turns:
            return summary
        maker = actor_text(session.actor.kind, session.actor.name)
        new_segments = [
            place_segment(
                Segment("", 0, 0, turn.name, SPEAKER, maker, others={DETECTED_KEY: True}),
                self.body,
                turn.start,
                turn.end,
            )
            for turn in self.detection.turns
        ]
        segment_records.rewrite_segments(
            session, journal, source.entry, lambda old: _replace_detected(old, new_segments)
        )
        facts = {"source_id": source.number, "name": source.name, "page_id": str(source.entry), "path": source.path}
        facts |= {"format_used": summary.format_used, "speakers": summary.speakers}
        facts |= {"segments_count": summary.segments_count}
        command_events.record_event(session, EventType.SPEAKERS_DETECTED, facts)
        return summary

    def idle_result(self, session: Session) -> Speakers | None:
        return None if self.detection.turns else _summary_of(self.detection)


@command("detect_speakers")
def detect_speakers(session: Session, source_id: Reference, format: str = Format.AUTO) -> Plan[Speakers]:
    """
    Mark every turn of a source as a segment labelled with the speaker's name.

    Earlier detected segments are replaced; segments by people and of other kinds stay. Without speakers nothing
    changes.
    """
    from mirrord.research.speakers.speaker_turns import find_speakers  # noqa: PLC0415  (compiles its patterns on import)

    if format not in list(Format):
        formats = ", ".join(Format)
        raise invalid_argument("INVALID_FORMAT", f"{format!r} is no format of speakers.", f"There are {formats}.")
    source = read_holdings(session).find_source(source_id, "SPEAKERS_NOT_DETECTED/NOT_FOUND")
    page = page_writes.read_page_file(session, source.path)
    body = source_text(page.text)
    return _SpeakerDetection(source, page, body, find_speakers(body, Format(format)))


def _summary_of(detection: Detection) -> Speakers:
    speakers, occurrences = list(detection.speakers), dict(detection.occurrences)
    return Speakers(speakers, len(speakers), detection.format_used, occurrences, len(detection.turns))


def _is_detected(segment: Segment) -> bool:
    return segment.kind == SPEAKER and segment.others.get(DETECTED_KEY) is True


def _replace_detected(old: Sequence[Segment], new_segments: Sequence[Segment]) -> list[Segment]:
    """Segments not detected here, then the new ones; a new segment equal to a present one keeps the present one."""
    other_segments = [segment for segment in old if not _is_detected(segment)]
    present = {
        (segment.label, segment.start, segment.end, segment.quote): segment
        for segment in old
        if _is_detected(segment) and not segment.detached
    }
    equal_segments = [
        present.get((segment.label, segment.start, segment.end, segment.quote)) for segment in new_segments
    ]
    return other_segments + [
        equal or replace(segment, id=str(new_id())) for equal, segment in zip(equal_segments, new_segments, strict=True)
    ]


def _preview_lines(body: str, detection: Detection) -> tuple[str, ...]:
    """Number of turns by speaker, then the first turns."""
    counts = [f"{name}: {number}" for name, number in detection.occurrences.items()]
    texts = [(turn.name, " ".join(body[turn.start : turn.end].split())) for turn in detection.turns[:MAX_PREVIEW_LINES]]
    turns = [
        f"{name} | {text[:_MAX_TURN_CHARACTERS]}{'…' if len(text) > _MAX_TURN_CHARACTERS else ''}"
        for name, text in texts
    ]
    return tuple([*counts[: MAX_PREVIEW_LINES // 2], *turns][:MAX_PREVIEW_LINES])
