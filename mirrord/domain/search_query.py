"""A search: words and phrases as regular expressions that every engine reads alike."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from mirrord.domain.place import FOLDING

MAX_QUERY_CHARACTERS = 1_000  # of a query
MAX_TERMS = 20
MIN_NEAR_LETTERS, MAX_NEAR_LETTERS = 4, 30  # of a word that may be misspelt

_TERM = re.compile(r'"([^"]*)"?|([^\s"]+)')
_BLANK = "[\t\v\f\x1c-\x1f \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+"  # any blank within a line


@dataclass(frozen=True, slots=True)
class Term:
    """
    A word, which may be part of a longer one, or a phrase within a line.

    source: a regular expression for the library that names candidates, without flags. pattern: decides.
    needles: texts of which folded letters hold one where they match; empty: only the expression tells.
    case_sensitive: whether folded letters cannot tell.
    """

    text: str
    source: str
    pattern: re.Pattern[str]
    needles: tuple[str, ...] = ()
    case_sensitive: bool = False


def terms_of(query: str, *, case_sensitive: bool) -> list[Term]:
    """
    The distinct words and "phrases" of *query*, at most MAX_TERMS; a page must contain all of them.

    Without *case_sensitive*, letters of any script are compared as in names: by simple case folding. Accents may be
    written as one character or two.
    """
    texts = [" ".join((match[1] if match[1] is not None else match[2]).split()) for match in _TERM.finditer(query)]
    return [_make_term(text, case_sensitive=case_sensitive) for text in dict.fromkeys(filter(None, texts))][:MAX_TERMS]


def near_term(term: Term) -> Term | None:
    """
    *term* with one letter wrong, missing, too many or swapped with the next, as a whole word in any case.

    None: a phrase, or too short or too long a word to tell.
    """
    letters = unicodedata.normalize("NFC", term.text)
    if not (MIN_NEAR_LETTERS <= len(letters) <= MAX_NEAR_LETTERS and letters.isalnum()):
        return None
    spelt = list(map(_any_case, letters))
    edits = _with_one_edit(spelt)
    # for the library the blanks around a word: a boundary in Unicode takes it a hundred times longer
    return Term(term.text, rf"(?:^|\W)(?:{edits})(?:\W|$)", re.compile(rf"\b(?:{edits})\b"))


def _with_one_edit(spelt: Sequence[str]) -> str:
    """An expression that shares every beginning: alternatives side by side would take a hundred times longer."""
    source = r"\w?"
    for at in reversed(range(len(spelt))):
        remaining = "".join(spelt[at + 1 :])
        swapped = [f"{spelt[at + 1]}{spelt[at]}{''.join(spelt[at + 2 :])}"] if at + 1 < len(spelt) else []
        source = "|".join([f"{spelt[at]}(?:{source})", rf"\w?{remaining}", rf"\w{spelt[at]}{remaining}", *swapped])
    return source


def _make_term(text: str, *, case_sensitive: bool) -> Term:
    forms = (text, *(unicodedata.normalize(form, text) for form in ("NFC", "NFD")))
    sources = [_source_of(form, case_sensitive=case_sensitive) for form in forms]
    source = "|".join(dict.fromkeys(sources))
    is_literal = not case_sensitive and " " not in text
    needles = dict.fromkeys(form.translate(FOLDING) for form in forms) if is_literal else ()
    return Term(text, source, re.compile(source), tuple(needles), case_sensitive)


def _source_of(text: str, *, case_sensitive: bool) -> str:
    spell = re.escape if case_sensitive else _any_case
    return "".join(_BLANK if character == " " else spell(character) for character in text)


def _any_case(character: str) -> str:
    folded = FOLDING.get(ord(character), ord(character))
    alike = _CODES_BY_FOLDED.get(folded, [])
    return f"[{chr(folded)}{''.join(map(chr, alike))}]" if alike else re.escape(character)


def _codes_by_folded() -> dict[int, list[int]]:
    """The code points that fold to each code point."""
    codes_by_folded = defaultdict[int, list[int]](list)
    for code, folded in FOLDING.items():
        codes_by_folded[folded].append(code)
    return dict(codes_by_folded)


_CODES_BY_FOLDED = _codes_by_folded()
