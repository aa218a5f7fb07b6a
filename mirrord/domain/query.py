"""What somebody searches for: words and phrases, as regular expressions that every engine reads alike."""

import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass

from mirrord.domain.folding import FOLDING

MAX_CHARACTERS = 1_000
MAX_TERMS = 20

_TERM = re.compile(r'"([^"]*)"?|([^\s"]+)')
_BLANK = "[\t\v\f\x1c-\x1f \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+"  # in a line, of any kind


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
    The words and "phrases" of *query*, each once; a page has to hold all of them.

    Without *case_sensitive* letters are equal as in names: by simple case folding, of any script. Accents may be
    written as one character or two. Of the first MAX_TERMS only.
    """
    texts = [" ".join((found[1] if found[1] is not None else found[2]).split()) for found in _TERM.finditer(query)]
    return [_term(text, case_sensitive=case_sensitive) for text in dict.fromkeys(filter(None, texts))][:MAX_TERMS]


def _term(text: str, *, case_sensitive: bool) -> Term:
    forms = dict.fromkeys(unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    sources = [_source(form, case_sensitive=case_sensitive) for form in (text, *forms)]
    source = "|".join(dict.fromkeys(sources))
    return Term(text, source, re.compile(source))


def _source(text: str, *, case_sensitive: bool) -> str:
    spell = re.escape if case_sensitive else _any_case
    return "".join(_BLANK if one == " " else spell(one) for one in text)


def _any_case(character: str) -> str:
    folded = FOLDING.get(ord(character), ord(character))
    alike = _ALIKE.get(folded, [])
    return f"[{chr(folded)}{''.join(map(chr, alike))}]" if alike else re.escape(character)


def _alike() -> dict[int, list[int]]:
    """The code points that fold to another, by that."""
    found = defaultdict[int, list[int]](list)
    for code, folded in FOLDING.items():
        found[folded].append(code)
    return dict(found)


_ALIKE = _alike()
