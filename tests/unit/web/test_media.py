"""A file is what its first bytes say, and its name has to say the same."""

import pytest

from mirrord.web.media_types import accepted_media_type, displayed_media_type

PNG = b"\x89PNG\r\n\x1a\nrest"
WEBP = b"RIFF\x10\x00\x00\x00WEBPVP8 "
AVIF = b"\x00\x00\x00\x20ftypavif...."


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.png", PNG, "image/png"),
        ("A.PNG", PNG, "image/png"),
        ("a.webp", WEBP, "image/webp"),
        ("a.avif", AVIF, "image/avif"),
        ("a.jpg", b"\xff\xd8\xff\xe0", "image/jpeg"),
        ("a.pdf", b"%PDF-1.7", "application/pdf"),
        ("a.png", b"GIF89a", None),
        ("a.png", b"", None),
        ("a.webp", b"RIFF\x10\x00\x00\x00WAVE", None),
        ("a.svg", b"<svg", None),
        ("a.svg", b'<svg xmlns="http://www.w3.org/2000/svg"/>', "image/svg+xml"),
        ("a.svg", b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- by hand -->\n<!DOCTYPE svg>\n<svg>", "image/svg+xml"),
        ("a.svg", b"<html><svg>", None),
        ("a.svg", b"<!-- <svg> -->" * 40 + b"<p>", None),
        ("a.svg", PNG, None),
        ("a.png", b"<svg>", None),
        ("a.html", b"<p>", None),
        ("a", PNG, None),
        (".png", PNG, "image/png"),
    ],
)
def test_what_is_taken_is_what_it_says(name: str, data: bytes, kind: str | None) -> None:
    assert accepted_media_type(name, data) == kind


def test_what_is_shown_is_told_by_its_bytes() -> None:
    assert displayed_media_type("a.txt", PNG) == "image/png"
    assert displayed_media_type("a.png", b"<script>") is None
    assert displayed_media_type("a.svg", PNG) == "image/svg+xml"
