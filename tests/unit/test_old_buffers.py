"""Which save may come from an editor that had not read what mirrord wrote into the file."""

from mirrord.domain.entry import digest_of, new_id
from mirrord.sync.decisions.stale_buffers import BUFFER_SECONDS, REPEATED_BUFFER_SECONDS, OldBuffers

SECOND_NS = 1_000_000_000
WRITTEN_NS = 5_000 * SECOND_NS
PAGE = new_id()
SAVED = digest_of(b"an older text, edited")


def after(seconds: float) -> int:
    """The stamp of a save so many seconds after mirrord's write."""
    return WRITTEN_NS + int(seconds * SECOND_NS)


def test_a_save_within_seconds_may_come_from_an_older_buffer() -> None:
    buffers = OldBuffers()
    buffers.note_write(PAGE, WRITTEN_NS)
    assert buffers.may_show_older(PAGE, after(BUFFER_SECONDS - 1))
    assert not buffers.may_show_older(PAGE, after(BUFFER_SECONDS + 1))


def test_of_a_file_that_mirrord_did_not_write_nothing_is_assumed() -> None:
    assert not OldBuffers().may_show_older(PAGE, WRITTEN_NS)


def test_a_clock_that_was_set_back_is_no_evidence() -> None:
    buffers = OldBuffers()
    buffers.note_write(PAGE, WRITTEN_NS)
    assert not buffers.may_show_older(PAGE, after(-1))


def test_an_editor_that_just_saved_an_older_text_shows_it_for_longer() -> None:
    buffers = OldBuffers()
    buffers.note_save(PAGE, SAVED)
    buffers.note_write(PAGE, WRITTEN_NS)
    assert buffers.may_show_older(PAGE, after(REPEATED_BUFFER_SECONDS - 1))
    assert not buffers.may_show_older(PAGE, after(REPEATED_BUFFER_SECONDS + 1))
    assert buffers.is_repeated(PAGE, SAVED)
    assert not buffers.is_repeated(PAGE, digest_of(b"another text"))


def test_the_next_write_of_the_row_ends_the_longer_time() -> None:
    buffers = OldBuffers()
    buffers.note_save(PAGE, SAVED)
    buffers.note_write(PAGE, WRITTEN_NS)
    buffers.note_write(PAGE, after(1))
    assert not buffers.is_repeated(PAGE, SAVED)
    assert not buffers.may_show_older(PAGE, after(BUFFER_SECONDS + 2))


def test_writes_older_than_the_limit_are_forgotten() -> None:
    buffers = OldBuffers()
    for number in range(1_000):
        buffers.note_write(new_id(), after(number))
    assert len(buffers.writes) <= BUFFER_SECONDS + 1
