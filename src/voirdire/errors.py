"""Every exception and warning that voirdire raises on purpose.

::

    VoirdireError                     catch this to catch all of ours
    └── InputError (also ValueError)  an argument, a file or a label breaks a rule
        └── NoDataError               nothing is left to examine

    DegenerateDataWarning (RuntimeWarning)  a figure is undefined (nan) or rests on too little
    DroppedRowsWarning (UserWarning)        labels were set aside; the result lists them

Anything else that escapes is a bug and keeps its traceback.
"""

__all__ = [
    "DegenerateDataWarning",
    "DroppedRowsWarning",
    "InputError",
    "NoDataError",
    "VoirdireError",
]


class VoirdireError(Exception):
    """Base of every error that voirdire raises on purpose."""


class InputError(VoirdireError, ValueError):
    """What the caller gave breaks a rule; the message says which, and one way out."""


class NoDataError(InputError):
    """The input is well formed, but nothing in it can be examined."""


class DegenerateDataWarning(RuntimeWarning):
    """A figure is undefined, and therefore nan, or rests on too few data."""


class DroppedRowsWarning(UserWarning):
    """Labels were set aside; the result lists each of them with its reason."""
