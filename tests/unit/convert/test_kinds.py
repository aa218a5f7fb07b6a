"""What a file is shows in its bytes first, in its name second; texts are read in the encoding they are in."""

import codecs
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.convert.file_kinds import Kind, kind_of
from mirrord.convert.text_encoding import encoding_of, text_of
from tests.unit.convert import documents as made

FILES = {
    "a.docx": (made.word(made.said("x")), Kind.DOCX),
    "a.zip": (made.archive({"a.txt": b"x"}), Kind.UNKNOWN),
    "a.epub": (made.archive({"mimetype": b"application/epub+zip"}, compressed=False), Kind.EPUB),
    "wrong.txt": (b"%PDF-1.7\n", Kind.PDF),
    "wrong.pdf": (b"just text", Kind.TEXT),
    "a.rtf": (b"{\\rtf1 x}", Kind.RTF),
    "a.md": (b"# Title", Kind.MARKDOWN),
    "a.htm": (b"<p>x", Kind.HTML),
    "a": (b"<!DOCTYPE html><p>x", Kind.HTML),
    "a.png": (made.PNG, Kind.IMAGE),
    "a.svg": (b'<svg xmlns="http://www.w3.org/2000/svg"/>', Kind.IMAGE),
    "a.jpg": (b"\xff\xd8\xff\xe0", Kind.IMAGE),
    "a.mp3": (b"ID3\x04\0", Kind.AUDIO),
    "raw.mp3": (b"\xff\xfb\x90\0\0\0\0", Kind.AUDIO),
    "a.wav": (b"RIFF\0\0\0\0WAVEfmt ", Kind.AUDIO),
    "a.ogv": (b"OggS\0", Kind.VIDEO),
    "a.mp4": (b"\0\0\0\x18ftypisom", Kind.VIDEO),
    "a.m4a": (b"\0\0\0\x18ftypM4A ", Kind.AUDIO),
    "a.webm": (b"\x1a\x45\xdf\xa3", Kind.VIDEO),
    "a.doc": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, Kind.OLD),
    "locked.docx": (made.sealed_word(), Kind.LOCKED),
    "a.bin": (bytes(range(256)), Kind.UNKNOWN),
    "BMW.txt": (b"BMW is a car", Kind.TEXT),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_what_its_bytes_are(name: str) -> None:
    data, kind = FILES[name]
    assert kind_of(io.BytesIO(data), name) is kind


TEXTS = {
    "utf-8": "Grüße, „naïve“ – 漢字 ☃",
    "utf-8-sig": "Grüße, „naïve“ – 漢字 ☃",
    "utf-16": "Grüße aus Köln",
    "utf-16-le": "Plain words without a mark",
    "utf-16-be": "Plain words without a mark",
    "cp1252": "Grüße, „naïve“ – 5 €",
    "latin-1": "Grüße \x81 \x8d",
    "cp1251": "Привет, как дела? Это короткий текст. " * 5,
}


@pytest.mark.parametrize("encoding", TEXTS)
def test_a_text_is_read_in_the_encoding_it_is_in(encoding: str) -> None:
    assert text_of(TEXTS[encoding].encode(encoding)) == TEXTS[encoding]


def test_lines_end_the_same_way_and_a_character_cut_by_the_sample_is_no_error() -> None:
    assert text_of(b"a\r\nb\rc\n") == "a\nb\nc\n"
    assert encoding_of("ö".encode()[:1], is_whole=False) == "utf-8"
    assert encoding_of("ö".encode()[:1], is_whole=True) == "cp1252"


@given(st.text("aZ0 ,\n\tßé漢☃😀þÿ", min_size=1))
def test_utf_8_with_and_without_a_mark_is_always_known(text: str) -> None:
    assert text_of(codecs.BOM_UTF8 + text.encode()) == text
    if text.encode()[:2] not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        assert text_of(text.encode()) == text
