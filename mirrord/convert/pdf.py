"""
PDF to HTML and images: `python -m mirrord.convert.pdf FILE HTML`.

Exits with LOCKED or BROKEN for such a file; prints `PAGE OF` as progress.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pdfplumber
from pdfminer.pdfdocument import PDFPasswordIncorrect
from pdfminer.pdfexceptions import PDFException
from pdfminer.psexceptions import PSException
from pdfplumber.utils.exceptions import PdfminerException

from mirrord.convert.converter_process import BROKEN, LOCKED
from mirrord.convert.pdf_layout import Line, Page, Picture, Sizes, Table, html_of

_UNKNOWN_LETTER = re.compile(r"\(cid:\d+\)")  # the text of a letter without a known code point
_SAMPLE_PAGES = 10  # from which letter sizes are learned
_MAX_PICTURES = 300
_MIN_PICTURE_POINTS = 24.0  # smaller images are ornaments
_CELL_GAP, _WORD_GAP = 1.0, 0.15  # in letter sizes: between cells, and between words
_DOTS_PER_INCH = 150  # of rendered pictures


def main(source: str, target: str) -> None:
    """Write the content of *source* to *target*, and its pictures beside it."""
    try:
        _write_html(source, Path(target))
    except (PdfminerException, PDFException, PSException) as error:
        locked = isinstance(error, PDFPasswordIncorrect) or any(isinstance(e, PDFPasswordIncorrect) for e in error.args)
        sys.exit(LOCKED if locked else BROKEN)


def _write_html(source: str, target: Path) -> None:
    with pdfplumber.open(source) as document, target.open("w", encoding="utf-8") as out:
        pages = document.pages
        sizes = Sizes(line for page in pages[:_SAMPLE_PAGES] for line in _extract_lines(page))
        out.write('<!doctype html><html><head><meta charset="utf-8"></head><body>\n')
        pictures = _Pictures(target.parent)
        for number, page in enumerate(pages, 1):
            out.writelines(f"{piece}\n" for piece in html_of(_read_page(page, pictures), sizes))
            page.close()
            print(number, len(pages), flush=True)
        out.write("</body></html>\n")


def _read_page(page: Any, pictures: "_Pictures") -> Page:
    tables = [table for table in page.find_tables() if len(table.rows) > 1 and len(table.rows[0].cells) > 1]
    boxes = [table.bbox for table in tables]
    lines = [line for line in _extract_lines(page) if not any(_is_within(line, box) for box in boxes)]
    extracted_tables = [
        Table(table.bbox[1], [[cell or "" for cell in row] for row in table.extract()]) for table in tables
    ]
    return Page(float(page.height), lines, extracted_tables, list(pictures.of(page)))


def _extract_lines(page: Any) -> list[Line]:
    lines = list[Line]()
    for line in page.extract_text_lines(return_chars=True, x_tolerance_ratio=_WORD_GAP):
        text = _UNKNOWN_LETTER.sub("", line["text"])
        if not text.strip():
            continue
        size = sorted(float(letter["size"]) for letter in line["chars"])[len(line["chars"]) // 2]
        left, top, right, bottom = (float(line[edge]) for edge in ("x0", "top", "x1", "bottom"))
        lines.append(Line(text, left, top, right, bottom, size, _split_cells(line["chars"], size)))
    return lines


def _split_cells(letters: Any, size: float) -> tuple[str, ...]:
    """Parts of a line, separated by gaps wider than a blank, with their own blanks."""
    cells, last = [""], None
    for letter in sorted(letters, key=lambda letter: letter["x0"]):
        gap = letter["x0"] - last if last is not None else 0.0
        if letter["text"].isspace():
            cells[-1] += " "
            continue
        if gap > _CELL_GAP * size:
            cells.append("")
        elif gap > _WORD_GAP * size and not cells[-1].endswith(" "):
            cells[-1] += " "
        cells[-1] += _UNKNOWN_LETTER.sub("", letter["text"])
        last = letter["x1"]
    return tuple(cell.strip() for cell in cells)


def _is_within(line: Line, box: tuple[float, float, float, float]) -> bool:
    middle = (line.top + line.bottom) / 2
    return box[1] <= middle <= box[3] and line.right > box[0] and line.left < box[2]


class _Pictures:
    """The pictures of all pages, each a file in *directory*."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._count = 0

    def of(self, page: Any) -> Iterator[Picture]:
        """The pictures of one page; JPEG unchanged, others rendered."""
        for image in page.images:
            width, height = float(image["x1"]) - float(image["x0"]), float(image["bottom"]) - float(image["top"])
            if min(width, height) < _MIN_PICTURE_POINTS or self._count >= _MAX_PICTURES:
                continue
            self._count += 1
            yield Picture(float(image["top"]), self._write_picture(page, image))

    def _write_picture(self, page: Any, image: Any) -> str:
        stream = image["stream"]
        if [str(name) for name, _ in stream.get_filters()] == ["/'DCTDecode'"]:
            name = f"picture-{self._count}.jpg"
            (self._directory / name).write_bytes(stream.get_rawdata())
            return name
        name = f"picture-{self._count}.png"
        box = (
            max(image["x0"], page.bbox[0]),
            max(image["top"], page.bbox[1]),
            min(image["x1"], page.bbox[2]),
            min(image["bottom"], page.bbox[3]),
        )
        page.crop(box).to_image(resolution=_DOTS_PER_INCH).save(str(self._directory / name))
        return name


if __name__ == "__main__":
    main(*sys.argv[1:3])
