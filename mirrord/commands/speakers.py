"""The agent finds out who speaks in a source, and marks each turn as a segment."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mirrord.commands import events, segments, writing
from mirrord.commands.failure import Failed, invalid
from mirrord.commands.holdings import Reference, Source, holdings, text_of
from mirrord.commands.session import Session
from mirrord.domain.approval import MOST_LINES, Preview
from mirrord.domain.entry import new_id
from mirrord.domain.event import Type
from mirrord.domain.segment import SPEAKER, Segment, actor_text, placed
from mirrord.domain.transcript import Detection, Format

DETECTED = "detected"  # a key of segments that were made here; others are not replaced here
_SHOWN = 60  # characters of a turn in a preview


@dataclass(frozen=True, slots=True)
class Speakers:
    """
    Who speaks in a source.

    speakers: in the order of their first turns; count: how many. format_used: colon, bracket or brace; None: nobody
    speaks. occurrences: turns by speaker. segments_count: segments there are now, one a turn.
    """

    speakers: list[str]
    count: int
    format_used: str | None
    occurrences: dict[str, int]
    segments_count: int


@dataclass(frozen=True, slots=True)
class _Asked:
    """A source as it is now, and what it shows."""

    source: Source
    page: writing.Page
    body: str
    found: Detection


def detect_speakers(session: Session, source_id: Reference, format: str = Format.AUTO) -> Speakers:
    """
    Mark every turn of a source as a segment labelled with the speaker's name.

    What was marked so before is replaced; segments of people, and of other kinds, stay. Where nobody speaks nothing
    changes.
    """
    with session.writing() as journal:
        asked = _asked(session, source_id, format)
        if not asked.found.turns:
            return _result(asked.found)
        maker = actor_text(session.actor.kind, session.actor.name)
        made = [
            placed(
                Segment("", 0, 0, turn.name, SPEAKER, maker, others={DETECTED: True}), asked.body, turn.start, turn.end
            )
            for turn in asked.found.turns
        ]
        segments.rewrite(session, journal, asked.source.entry, lambda old: _replaced(old, made))
        done = _result(asked.found)
        facts = {"source_id": asked.source.number, "name": asked.source.name, "page_id": str(asked.source.entry)}
        facts |= {"path": asked.source.path, "format_used": done.format_used, "speakers": done.speakers}
        events.record(session, Type.SPEAKERS_DETECTED, {**facts, "segments_count": done.segments_count})
        return done


def nobody_speaks(session: Session, source_id: Reference, format: str = Format.AUTO) -> Speakers | None:
    """What detect_speakers returns where it finds nobody; None: somebody speaks."""
    found = _asked(session, source_id, format).found
    return None if found.turns else _result(found)


def preview_detect_speakers(session: Session, source_id: Reference, format: str = Format.AUTO) -> Preview:
    """What detect_speakers would do."""
    asked = _asked(session, source_id, format)
    done, name = _result(asked.found), asked.source.name
    before = sum(map(_is_own, segments.segments_of(session, asked.source.entry))) if done.count else 0
    facts = {"source_id": asked.source.number, "name": name, "speakers": done.speakers, "count": done.count}
    facts |= {"format_used": done.format_used, "occurrences": done.occurrences}
    facts |= {"segments_count": done.segments_count, "segments_replaced_count": before}
    turns = "1 turn" if done.segments_count == 1 else f"{done.segments_count} turns"
    sentence = f"In the source {name!r} {turns} of {done.count} speaker{'' if done.count == 1 else 's'} would be marked"
    instead = f", in place of {before} marked before." if before else "."
    bases = {asked.page.path: asked.page.digest.hex(), **segments.base_of(session, asked.source.entry)}
    if not asked.found.turns:
        return Preview(f"Nobody speaks in the source {name!r}; nothing would change.", facts, (), bases)
    return Preview(sentence + instead, facts, _lines(asked), bases)


def _asked(session: Session, source_id: Reference, format: str) -> _Asked:
    from mirrord.domain.speakers import detect  # noqa: PLC0415  (its patterns are compiled when somebody needs them)

    if format not in list(Format):
        known = ", ".join(Format)
        raise invalid("INVALID_FORMAT", f"{format!r} is no format of speakers.", f"There are {known}.")
    source = holdings(session).source(source_id)
    if source is None:
        sentence = f"There is no source with the id {source_id}."
        raise Failed("SPEAKERS_NOT_DETECTED/NOT_FOUND", "not_found", sentence, "Use an id that list_sources shows.")
    page = writing.read(session, source.path)
    body = text_of(page.text)
    return _Asked(source, page, body, detect(body, Format(format)))


def _result(found: Detection) -> Speakers:
    speakers, occurrences = list(found.speakers), dict(found.occurrences)
    return Speakers(speakers, len(speakers), found.format_used, occurrences, len(found.turns))


def _is_own(segment: Segment) -> bool:
    return segment.kind == SPEAKER and segment.others.get(DETECTED) is True


def _replaced(old: Sequence[Segment], made: Sequence[Segment]) -> list[Segment]:
    """The segments of others, then those *made*; one that is there already stays as it is."""
    kept = [segment for segment in old if not _is_own(segment)]
    known = {(one.label, one.start, one.end, one.quote): one for one in old if _is_own(one) and not one.detached}
    same = [known.get((one.label, one.start, one.end, one.quote)) for one in made]
    return kept + [found or replace(one, id=str(new_id())) for found, one in zip(same, made, strict=True)]


def _lines(asked: _Asked) -> tuple[str, ...]:
    """How often each speaks, then the first turns."""
    counts = [f"{name}: {number}" for name, number in asked.found.occurrences.items()]
    said = [(turn.name, " ".join(asked.body[turn.start : turn.end].split())) for turn in asked.found.turns[:MOST_LINES]]
    turns = [f"{name} | {text[:_SHOWN]}{'…' if len(text) > _SHOWN else ''}" for name, text in said]
    return tuple([*counts[: MOST_LINES // 2], *turns][:MOST_LINES])
