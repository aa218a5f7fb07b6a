"""What may be the name of somebody who speaks: `P1`, `O'Brien`, `Dr. Smith`, `INTERVIEWER`, `主持人`, `john`."""

import re

from mirrord.domain.captions import CAPTIONS, HONORIFICS, OPENINGS, PARTICLES, PERSONS, ROLES, SOUNDS
from mirrord.domain.place import name_key

_LONGEST = 40  # characters
_MOST_WORDS = 5
_IDEOGRAMS = 12  # characters of a name in a script without blanks
_SIGNS = re.compile(r"[^\w\s.'’ʼ`´&/·・-]")  # what no name contains
_WORD = re.compile(r"[\s/&]+")
_CODE = re.compile(r"[^\W\d_]{1,3}[ .-]?\d{1,3}[a-z]?", re.IGNORECASE)  # P1, S 02
_SPOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_ASKING = "?？؟;我你您咱俺私僕"  # the Greek question mark, and persons in scripts without blanks
_DOTTED = 6  # characters of an abbreviation, with its dot


def may_be_name(name: str) -> bool:
    """Whether somebody may be called so."""
    words = [word for word in _WORD.split(name) if word]
    if not words or len(name) > _LONGEST or len(words) > _MOST_WORDS or _SIGNS.search(name):
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


def is_personal(said: str) -> bool:
    """Whether somebody is asked, or speaks of himself or to another."""
    words = _SPOKEN.findall(said)
    return any(sign in said for sign in _ASKING) or "I" in words or any(name_key(word) in PERSONS for word in words)


def is_sound(name: str) -> bool:
    """Whether it is a noise or a pause that somebody wrote down."""
    return any(name_key(word) in SOUNDS for word in _WORD.split(name) if word)


def is_nickname(name: str) -> bool:
    """One word in small letters, as people are called in chats."""
    return name[:1].islower() and not any(sign.isspace() for sign in name)


def is_role(name: str) -> bool:
    """Whether a name by itself shows that somebody speaks: a role, a title, a number."""
    keys = {name_key(word.rstrip(".")) for word in _WORD.split(name) if word}
    return bool(keys & ROLES or keys & HONORIFICS) or bool(_CODE.fullmatch(name))


def _is_word(word: str) -> bool:
    """A word of a name: a capital in front, or a script that has none, or a number."""
    if word.isdecimal():
        return len(word) <= 4
    if (word.endswith(".") and len(word) > _DOTTED) or ".." in word:
        return False
    first = word[0]
    if not first.isalpha():
        return False
    if not (first.isupper() or first.islower() or first.istitle()):
        return len(word) <= _IDEOGRAMS
    return not first.islower()
