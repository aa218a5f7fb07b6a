"""Documents become the Markdown a person would have written; what is none, or does harm, is refused in a sentence."""

import io
from pathlib import Path

import pytest

from mirrord.convert import converter_process, documents
from mirrord.convert.documents import ConvertedDocument, convert_document
from mirrord.convert.file_kinds import PICTURES_DIRECTORY, Kind, kind_of
from mirrord.errors import Damaged
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.write.render import splice_document
from tests.unit.convert import documents as made

LISTS = "- apples\n- pears\n  - green\n  - yellow\n"
ROWS = ("| apple | 3 | *good* |", "| pear | 12 | a |", "| crème | 7 | x |")
HEADINGS = ("# Field guide\n", "## Lists\n", "### Interview\n", "#### Deep heading\n")
NUMBERS = "1. one\n2. two\n3. three\n"
PARTS = (*HEADINGS, LISTS, NUMBERS, *ROWS, "[link](https://example.org/a_b?x=1&y=2)", "漢字", "**strong**")


def converted(data: bytes, name: str, place: Path) -> ConvertedDocument:
    """What becomes of a file of that name."""
    source, work = place / "source", place / "work"
    source.write_bytes(data)
    work.mkdir()
    return convert_document(kind_of(io.BytesIO(data), name), source, work)


@pytest.mark.parametrize("ending", made.OFFICE)
def test_headings_lists_tables_images_and_links_of_a_document_survive(tmp_path: Path, ending: str) -> None:
    document = converted((made.REAL / f"guide.{ending}").read_bytes(), f"guide.{ending}", tmp_path)
    for part in PARTS:
        assert part in document.text, part
    ((name, picture),) = document.pictures.items()
    assert f"]({PICTURES_DIRECTORY}/{name})" in document.text
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert ("[^1]: The footnote says *this*." in document.text) == (ending != "rtf")
    assert splice_document("", read_document(document.text), "\n") == document.text  # the codec writes it the same way


def test_a_pdf_keeps_headings_lists_tables_and_images_as_its_letters_show_them(tmp_path: Path) -> None:
    pages = list[tuple[int, int]]()
    source, work = made.REAL / "guide.pdf", tmp_path / "work"
    work.mkdir()
    document = convert_document(Kind.PDF, source, work, lambda number, of: pages.append((number, of)))
    assert pages == [(1, 2), (2, 2)]
    for part in ("# Field guide\n", "## Lists\n", LISTS, NUMBERS, "| pear | 12 | a |"):
        assert part in document.text, part
    assert "naïve café — “quotes” … and a footnote" in document.text
    assert f"![]({PICTURES_DIRECTORY}/image-1.jpg)" in document.text
    assert document.pictures["image-1.jpg"].read_bytes().startswith(b"\xff\xd8")


def test_words_of_a_pdf_stand_apart_where_only_a_narrow_gap_parts_them(tmp_path: Path) -> None:
    drawn = "BT /F 10 Tf 50 700 Td [(Per)-20(mission)-220(is)-220(granted)] TJ 0 -12 Td [(to)-220(copy.)] TJ ET"
    text = converted(made.printed(drawn), "a.pdf", tmp_path).text
    assert text.split() == ["Permission", "is", "granted", "to", "copy."]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_a_web_page_is_read_in_its_encoding_and_without_its_scripts(tmp_path: Path, encoding: str) -> None:
    text = converted(made.HTML.encode(encoding), "page.html", tmp_path).text
    assert "naïve café" in text
    assert "alert" not in text
    assert text.startswith("# Field guide\n")
    assert text.count("Field guide") == 1
    assert "| apple | 3 |" in text
    assert "![A chart](chart.png)" in text


def test_brackets_and_signs_of_a_text_stay_what_they_are(tmp_path: Path) -> None:
    text = converted(made.word(made.said("[P1]: 2 &lt; 3 * 4 # no") + made.said("P2: yes_no")), "a.docx", tmp_path).text
    assert read_document(text)["content"][0]["content"] == [{"type": "text", "text": "[P1]: 2 < 3 * 4 # no"}]
    assert "P2: yes_no" in text


HARMFUL = {
    "a docx behind a password": (made.sealed_word(), Kind.LOCKED, None),
    "an odt behind a password": (made.sealed_text(), Kind.ODT, "protected by a password"),
    "a pdf behind a password": ((made.REAL / "locked.pdf").read_bytes(), Kind.PDF, "protected by a password"),
    "half a docx": ((made.REAL / "guide.docx").read_bytes()[:9000], Kind.DOCX, "not transferred completely"),
    "half a pdf": ((made.REAL / "guide.pdf").read_bytes()[:600], Kind.PDF, "not transferred completely"),
    "a bomb": (made.bomb(), Kind.DOCX, "unpack to far more"),
    "a docx that is none": (made.archive({"word/document.xml": b"no"}), Kind.DOCX, "damaged"),
}


@pytest.mark.parametrize("case", HARMFUL)
def test_what_cannot_be_read_is_refused_in_a_sentence(tmp_path: Path, case: str) -> None:
    data, kind, why = HARMFUL[case]
    assert kind_of(io.BytesIO(data), "interview.docx") is kind
    if why is not None:
        with pytest.raises(Damaged, match=why):
            converted(data, "interview.docx", tmp_path)


def test_entities_that_multiply_do_not_outgrow_the_limits(tmp_path: Path) -> None:
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "lol" * 1000}">' for n in range(9))
    inner = f"<!DOCTYPE w [{entities}]><w:document>&e8;</w:document>".encode()
    with pytest.raises(Damaged):
        converted(made.archive({"word/document.xml": inner, "pad": bytes(range(256)) * 50}), "a.docx", tmp_path)


def test_a_converter_ends_when_its_time_is_over(tmp_path: Path) -> None:
    with pytest.raises(Damaged, match="too long"):
        converter_process.run_confined(["/bin/sh", "-c", "while :; do :; done"], tmp_path, cpu=1)


def test_a_converter_has_no_network_and_nothing_of_our_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIRRORD_TOKEN", "secret")
    script = 'test -z "$MIRRORD_TOKEN" && ulimit -v && test "$(wc -l < /proc/net/dev)" -le 3'
    assert converter_process.run_confined(["/bin/sh", "-c", script], tmp_path) == 0


def test_a_long_document_stays_as_the_converter_spells_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_MAX_FORMATTED_CHARACTERS", 10)
    document = converted((made.REAL / "guide.epub").read_bytes(), "guide.epub", tmp_path)
    assert "It started at \\* noon \\* with" in document.text
    assert f"]({PICTURES_DIRECTORY}/image-1.png)" in document.text


def test_the_filter_is_installed_beside_the_code() -> None:
    assert Path(documents.__file__).with_name("plain.lua").is_file()
