"""A search: words and phrases as regular expressions that every engine reads alike."""

import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass

from mirrord.domain.place import FOLDING

MAX_QUERY_CHARACTERS = 1_000  # of a query
MAX_TERMS = 20

_TERM = re.compile(r'"([^"]*)"?|([^\s"]+)')
_BLANK = "[\t\v\f\x1c-\x1f \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+"  # any blank within a line


@dataclass(frozen=True, slots=True)
class Term:
    """
    A word, which may be part of a longer one, or a phrase within a line.

    source: a regular expression that Python and Rust understand alike, without flags.
    """

    text: str
    source: str
    pattern: re.Pattern[str]


def terms_of(query: str, *, case_sensitive: bool) -> list[Term]:
    """
    The distinct words and "phrases" of *query*, at most MAX_TERMS; a page must contain all of them.

    Without *case_sensitive*, letters of any script are compared as in names: by simple case folding. Accents may be
    written as one character or two.
    """
    texts = [" ".join((match[1] if match[1] is not None else match[2]).split()) for match in _TERM.finditer(query)]
    return [_make_term(text, case_sensitive=case_sensitive) for text in dict.fromkeys(filter(None, texts))][:MAX_TERMS]


def _make_term(text: str, *, case_sensitive: bool) -> Term:
    forms = dict.fromkeys(unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    sources = [_source_of(form, case_sensitive=case_sensitive) for form in (text, *forms)]
    source = "|".join(dict.fromkeys(sources))
    return Term(text, source, re.compile(source))


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
