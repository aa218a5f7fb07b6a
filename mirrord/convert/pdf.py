"""
PDF to HTML and images, in a process of its own: `python -m mirrord.convert.pdf FILE HTML`, from `running`.

Exits with LOCKED or BROKEN where the file is one; prints `PAGE OF` as it goes.
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

from mirrord.convert.layout import Line, Page, Picture, Sizes, Table, html_of
from mirrord.convert.running import BROKEN, LOCKED

_UNKNOWN = re.compile(r"\(cid:\d+\)")  # how letters appear of which nobody says what they are
_SAMPLE = 10  # pages from which sizes are learnt
_MOST_PICTURES = 300
_SMALLEST = 24.0  # points: what is smaller is an ornament
_WIDE, _BLANK = 1.0, 0.15  # times the size of letters: gaps between cells, and between words
_DOTS = 150  # of an inch, of pictures that have to be drawn


def main(source: str, target: str) -> None:
    """Write what *source* shows to *target*, and its pictures beside that."""
    try:
        _write(source, Path(target))
    except (PdfminerException, PDFException, PSException) as error:
        locked = isinstance(error, PDFPasswordIncorrect) or any(isinstance(e, PDFPasswordIncorrect) for e in error.args)
        sys.exit(LOCKED if locked else BROKEN)


def _write(source: str, target: Path) -> None:
    with pdfplumber.open(source) as document, target.open("w", encoding="utf-8") as out:
        pages = document.pages
        sizes = Sizes(line for page in pages[:_SAMPLE] for line in _lines(page))
        out.write('<!doctype html><html><head><meta charset="utf-8"></head><body>\n')
        pictures = _Pictures(target.parent)
        for number, page in enumerate(pages, 1):
            out.writelines(f"{piece}\n" for piece in html_of(_seen(page, pictures), sizes))
            page.close()
            print(number, len(pages), flush=True)
        out.write("</body></html>\n")


def _seen(page: Any, pictures: "_Pictures") -> Page:
    tables = [table for table in page.find_tables() if len(table.rows) > 1 and len(table.rows[0].cells) > 1]
    boxes = [table.bbox for table in tables]
    lines = [line for line in _lines(page) if not any(_is_within(line, box) for box in boxes)]
    read = [Table(table.bbox[1], [[cell or "" for cell in row] for row in table.extract()]) for table in tables]
    return Page(float(page.height), lines, read, list(pictures.of(page)))


def _lines(page: Any) -> list[Line]:
    lines = list[Line]()
    for found in page.extract_text_lines(return_chars=True, x_tolerance_ratio=_BLANK):
        text = _UNKNOWN.sub("", found["text"])
        if not text.strip():
            continue
        size = sorted(float(letter["size"]) for letter in found["chars"])[len(found["chars"]) // 2]
        left, top, right, bottom = (float(found[edge]) for edge in ("x0", "top", "x1", "bottom"))
        lines.append(Line(text, left, top, right, bottom, size, _cells(found["chars"], size)))
    return lines


def _cells(letters: Any, size: float) -> tuple[str, ...]:
    """Parts of a line between which there is more than a blank, each with its blanks."""
    cells, last = [""], None
    for letter in sorted(letters, key=lambda one: one["x0"]):
        gap = letter["x0"] - last if last is not None else 0.0
        if letter["text"].isspace():
            cells[-1] += " "
            continue
        if gap > _WIDE * size:
            cells.append("")
        elif gap > _BLANK * size and not cells[-1].endswith(" "):
            cells[-1] += " "
        cells[-1] += _UNKNOWN.sub("", letter["text"])
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
        """Those of one page; JPEG as it is, others as they are drawn."""
        for found in page.images:
            width, height = float(found["x1"]) - float(found["x0"]), float(found["bottom"]) - float(found["top"])
            if min(width, height) < _SMALLEST or self._count >= _MOST_PICTURES:
                continue
            self._count += 1
            yield Picture(float(found["top"]), self._written(page, found))

    def _written(self, page: Any, found: Any) -> str:
        stream = found["stream"]
        if [str(name) for name, _ in stream.get_filters()] == ["/'DCTDecode'"]:
            name = f"picture-{self._count}.jpg"
            (self._directory / name).write_bytes(stream.get_rawdata())
            return name
        name = f"picture-{self._count}.png"
        box = (
            max(found["x0"], page.bbox[0]),
            max(found["top"], page.bbox[1]),
            min(found["x1"], page.bbox[2]),
            min(found["bottom"], page.bbox[3]),
        )
        page.crop(box).to_image(resolution=_DOTS).save(str(self._directory / name))
        return name


if __name__ == "__main__":
    main(*sys.argv[1:3])
