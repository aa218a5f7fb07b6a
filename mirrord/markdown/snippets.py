"""
Snippets of pages for results of a search: the sentences that hold the words, as people read them.

Letters are compared as `mirrord.search_text()` compares them in Postgres: without accents, in any case.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice
from operator import itemgetter
from typing import TypeAlias

from mirrord.markdown.frontmatter.page_text import PageText

MAX_SNIPPET_CHARACTERS = 220  # of the sentence in a snippet
MAX_SNIPPET_SOURCE_CHARACTERS = 100_000  # of a page that is looked through for a snippet
_MAX_MATCHES = 100  # of one term that count
_LEAD_CHARACTERS = 60  # before the first match in a long sentence
_MIN_BEGINNING_CHARACTERS = 60  # of a page without a match, whose first line may be a number

Stretch: TypeAlias = tuple[str, bool]  # a part of a text, and whether it is one of the words

_UNCUT = str.maketrans({"ø": "o", "đ": "d", "ł": "l", "ħ": "h", "ı": "i", "ŧ": "t", "ς": "σ", "ð": "d"})
_CUT = {"ß": "ss", "æ": "ae", "œ": "oe", "þ": "th"}
_VOICE_MARKS = "\u3099\u309a"  # of kana, which are other letters with them
_ALONE = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_ALONE}]|[^\W_{_ALONE}]+")
_FULL_STOP = r"(?<=\.)(?<!\d\.)(?<!\b\w\.)"  # none behind a digit or a single letter: `3. May`, `J. Austen`, `e.g. `
_END_OF_SENTENCE = re.compile(rf"(?:(?<=[!?…])|{_FULL_STOP})[\"')\]”’»]*\s+|(?<=[。！？])|\n+")

_MARKUP = [
    (re.compile(r"^[ \t]*(?:```|~~~|\|?[ \t]*:?-{2,}).*$", re.MULTILINE), ""),  # fences, rules, heads of tables
    (
        re.compile(
            r"^[ \t>]*(?:#{1,6}[ \t]+|[-+*][ \t]+(?:\[[ xX]\][ \t]+)?|\d+[.)][ \t]+|\[![\w-]+\][+-]?)", re.MULTILINE
        ),
        "",
    ),
    (re.compile(r"^[ \t]*>+[ \t]?", re.MULTILINE), ""),
    (re.compile(r"!?\[\[(?:[^\]|\n]*\|)?([^\]|\n]*)\]\]"), r"\1"),
    (re.compile(r"!?\[([^\]\n]*)\]\([^)\n]*\)"), r"\1"),
    (re.compile(r"</?[A-Za-z][^>\n]{0,200}>|<!--.{0,2000}?-->", re.DOTALL), ""),
    (re.compile(r"(?<!\w)(?:\*{1,3}|_{1,3}|~~|==)(?=\S)|(?<=\S)(?:\*{1,3}|_{1,3}|~~|==)(?!\w)|`+"), ""),
    (re.compile(r"\\([!-/:-@\[-`{-~])"), r"\1"),
    (re.compile(r"[ \t]*\|[ \t]*"), " · "),
]


def snippet_of(markdown: str, terms: Sequence[str]) -> list[Stretch]:
    """
    The sentence of a page with most of *terms*, in parts; the beginning of the page if none has one.

    terms: words of which the beginning is enough, and phrases.
    """
    text = read_text(PageText(markdown[:MAX_SNIPPET_SOURCE_CHARACTERS]).body)
    if not (places := find_terms(text, terms)):
        return _cut_around(text, 0, _end_of_beginning(text), [])
    starts = [0, *(match.end() for match in _END_OF_SENTENCE.finditer(text))]
    terms_by_sentence: dict[int, set[int]] = {}
    for start, _, term in places:
        terms_by_sentence.setdefault(bisect_right(starts, start) - 1, set()).add(term)
    best = max(terms_by_sentence, key=lambda at: (len(terms_by_sentence[at]), -at))
    begin, end = starts[best], starts[best + 1] if best + 1 < len(starts) else len(text)
    return _cut_around(text, begin, end, [(start, stop) for start, stop, _ in places if begin <= start and stop <= end])


def _end_of_beginning(text: str) -> int:
    ends = (match.end() for match in _END_OF_SENTENCE.finditer(text))
    return next((end for end in ends if end >= _MIN_BEGINNING_CHARACTERS), len(text))


def mark_terms(text: str, terms: Sequence[str]) -> list[Stretch]:
    """A title or a path, in parts."""
    return _part(text, 0, len(text), [(start, stop) for start, stop, _ in find_terms(text, terms)])


def read_text(body: str) -> str:
    """The text of Markdown without its markup, about as a reader sees it."""
    for pattern, replacement in _MARKUP:
        body = pattern.sub(replacement, body)
    return "\n".join(line.strip(" \t·") for line in body.splitlines() if line.strip(" \t·"))


def find_terms(text: str, terms: Sequence[str]) -> list[tuple[int, int, int]]:
    """(start, end, index of the term) of the places where *terms* are in *text*, in order."""
    folded, origins = fold_letters(text)
    places = []
    for index, term in enumerate(terms):
        words = _WORD.findall(fold_letters(term)[0])
        if not words:
            continue
        pattern = re.compile(("" if _is_alone(words[0]) else r"(?<![^\W_])") + r"[\W_]*".join(map(re.escape, words)))
        for match in islice(pattern.finditer(folded), _MAX_MATCHES):
            places.append((origins[match.start()], origins[match.end() - 1] + 1, index))
    return sorted(places)


def _is_alone(word: str) -> bool:
    return re.match(f"[{_ALONE}]", word) is not None


def fold_letters(text: str) -> tuple[str, Sequence[int]]:
    """*text* as it is compared, and for each of its letters the place in *text* that it comes from."""
    if text.isascii():
        return text.lower(), range(len(text))
    letters, origins = list[str](), list[int]()
    for at, letter in enumerate(text):
        folded = _fold_letter(letter)
        letters.append(folded)
        origins += [at] * len(folded)
    return "".join(letters), origins


@lru_cache(maxsize=4096)
def _fold_letter(letter: str) -> str:
    parts = unicodedata.normalize("NFKD", letter.lower())
    bare = "".join(part for part in parts if unicodedata.category(part) != "Mn" or part in _VOICE_MARKS)
    lowered = bare.lower().translate(_UNCUT)
    return _CUT.get(lowered, lowered)


def _cut_around(text: str, begin: int, end: int, places: Sequence[tuple[int, int]]) -> list[Stretch]:
    """The part of a sentence around its first match that fits a snippet."""
    end = begin + len(text[begin:end].rstrip())
    first = places[0][0] if places else begin
    start = begin if end - begin <= MAX_SNIPPET_CHARACTERS else max(begin, first - _LEAD_CHARACTERS)
    if start > begin:
        start = text.find(" ", start, first) + 1 or start
    stop = min(end, start + MAX_SNIPPET_CHARACTERS)
    if stop < end:
        stop = max(text.rfind(" ", start, stop), stop - _LEAD_CHARACTERS)
    stretches = _part(text, start, stop, places)
    if start > begin:
        stretches.insert(0, ("…", False))
    return [*stretches, ("…", False)] if stop < end else stretches


def _part(text: str, start: int, stop: int, places: Iterable[tuple[int, int]]) -> list[Stretch]:
    """*text* from *start* to *stop*, divided where *places* begin and end."""
    stretches, at = list[Stretch](), start
    for begin, end in sorted(places, key=itemgetter(0)):
        begin, end = max(begin, at), min(end, stop)
        if begin >= end:
            continue
        stretches += [(text[at:begin], False)] if begin > at else []
        stretches.append((text[begin:end], True))
        at = end
    return [*stretches, (text[at:stop], False)] if at < stop else stretches
