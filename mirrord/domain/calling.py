"""Recognize names of speakers: `P1`, `O'Brien`, `Dr. Smith`, `INTERVIEWER`, `主持人`, `john`."""

import re

from mirrord.domain.captions import CAPTIONS, HONORIFICS, OPENINGS, PARTICLES, PERSONS, ROLES, SOUNDS
from mirrord.domain.place import name_key

_MAX_NAME_CHARACTERS = 40  # characters
_MAX_WORDS = 5
_MAX_IDEOGRAMS = 12  # characters of a name in a script without blanks
_FORBIDDEN_SIGNS = re.compile(r"[^\w\s.'’ʼ`´&/·・-]")  # signs that no name contains
_WORD = re.compile(r"[\s/&]+")
_CODE = re.compile(r"[^\W\d_]{1,3}[ .-]?\d{1,3}[a-z]?", re.IGNORECASE)  # P1, S 02
_SPOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_QUESTION_SIGNS = "?？؟;我你您咱俺私僕"  # the Greek question mark, and persons in scripts without blanks
_MAX_ABBREVIATION_CHARACTERS = 6  # characters of an abbreviation, with its dot


def may_be_name(name: str) -> bool:
    """Whether *name* may be the name of a speaker."""
    words = [word for word in _WORD.split(name) if word]
    if not words or len(name) > _MAX_NAME_CHARACTERS or len(words) > _MAX_WORDS or _FORBIDDEN_SIGNS.search(name):
        return False
    keys = [name_key(word) for word in words]
    if not words[0][0].isalpha() or name_key(name.rstrip(".")) in CAPTIONS or (keys[0] in CAPTIONS and len(words) == 1):
        return False
    if len(words) > 1 and (keys[0] in OPENINGS or all(key in CAPTIONS or key.isdigit() for key in keys)):
        return False
    if len(words) == 1:
        return _is_word(words[0]) or is_nickname(name)
    return not ROLES.isdisjoint(keys) or all(
        _is_word(word) or key in PARTICLES for word, key in zip(words, keys, strict=True)
    )


def is_personal(text: str) -> bool:
    """Whether the text asks a question, or uses the first or second person."""
    words = _SPOKEN.findall(text)
    return (
        any(sign in text for sign in _QUESTION_SIGNS)
        or "I" in words
        or any(name_key(word) in PERSONS for word in words)
    )


def is_sound(name: str) -> bool:
    """Whether *name* denotes a noise or a pause in a transcript."""
    return any(name_key(word) in SOUNDS for word in _WORD.split(name) if word)


def is_nickname(name: str) -> bool:
    """Whether *name* is one word in small letters, as names in chats are."""
    return name[:1].islower() and not any(sign.isspace() for sign in name)


def is_role(name: str) -> bool:
    """Whether a name alone identifies a speaker: by a role, a title, a number."""
    keys = {name_key(word.rstrip(".")) for word in _WORD.split(name) if word}
    return bool(keys & ROLES or keys & HONORIFICS) or bool(_CODE.fullmatch(name))


def _is_word(word: str) -> bool:
    """Whether *word* may be part of a name: capitalized, in a script without capitals, or a number."""
    if word.isdecimal():
        return len(word) <= 4
    if (word.endswith(".") and len(word) > _MAX_ABBREVIATION_CHARACTERS) or ".." in word:
        return False
    first = word[0]
    if not first.isalpha():
        return False
    if not (first.isupper() or first.islower() or first.istitle()):
        return len(word) <= _MAX_IDEOGRAMS
    return not first.islower()
