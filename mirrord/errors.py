"""
The errors of mirrord: one class per reaction.

MirrordError
  UserError      shown as one sentence without a traceback: bad configuration, unknown page
  Refused        policy or safety refused this act for this actor
    Mounted      another file system, or a bind mount, is in the path
    DraftFull    a change set has as many pages or bytes as it may
    OutOfScope   the token's patterns do not permit changes there
  Stale          the side changed since it was read; observe again
  Busy           another program holds the file open for writing; look again later
  Unavailable    Postgres or the mirror's root is out of reach; retried with delay
    Locked       another transaction holds a row; all other rows go on meanwhile
    TooSlow      Postgres ended a statement at its time limit; a question is refused, as each try may end so
  Fenced         another daemon holds this mirror's lease now; write nothing more
  Damaged        text that cannot be taken as it is (not UTF-8, no safe round trip); listed as a problem
    ContentLost  a document of an app would remove what no person may have removed; confirmed by a call, or mended
  Halted         a safety halt stands until a person decides
  OutOfMemory    this process has no memory left; it ends, and is started again

Every message says what happened, to which page, and, where one exists, the command that helps.
"""


class MirrordError(Exception):
    """Anything mirrord raises on purpose."""


class UserError(MirrordError):
    """An error that the person can mend: shown as one sentence, without a traceback."""


class Refused(MirrordError):
    """The act is not allowed; repeating it changes nothing."""


class Mounted(Refused):
    """Something is mounted inside a tree: names cannot be exchanged across it."""


class DraftFull(Refused):
    """A change set has as many pages or bytes as it may."""


class OutOfScope(Refused):
    """The patterns of the token do not permit changes there."""


class Stale(MirrordError):
    """The side changed since it was read; observe again."""


class Busy(MirrordError):
    """Another program has the file open for writing; look again later."""


class Unavailable(MirrordError):
    """Postgres or the mirror's root is out of reach; try again later."""


class Locked(Unavailable):
    """Another transaction holds a row that has to be written: the other rows first, this one later."""


class TooSlow(Unavailable):
    """Postgres ended a statement that took longer than it may, or that its operator cancelled."""


class Fenced(MirrordError):
    """Another daemon holds this mirror's lease now; write nothing more."""


class Damaged(MirrordError):
    """The text cannot be taken as it is; the page waits as a problem, nothing is lost."""


class ContentLost(Damaged):
    """A document of an app would remove what no person may have removed from its page; the page waits as a problem."""


class Halted(MirrordError):
    """A safety halt stands until a person decides."""


class OutOfMemory(MirrordError):
    """No memory is left: this process is of no use any more, and ends."""


def reason_of(error: Exception) -> str:
    """The reason of *error* as the end of a sentence; for a system error without path and number."""
    return f"{error.strerror}." if isinstance(error, OSError) else str(error)
