"""Every exception and warning that voirdire raises on purpose.

::

    VoirdireError                     catch this to catch all of ours
    ├── AdapterError (also AssertionError)  an adapter's rewards are not those of the golden table
    ├── InputError (also ValueError)  an argument, a file or a label breaks a rule
    │   ├── LogicError                an expression or a completion class of a rubric has no meaning
    │   ├── NoDataError               nothing is left to examine
    │   └── RubricError               a rubric or another document breaks rules; `problems` has all
    ├── JudgeUnavailableError         a reward gave nothing so often that training was to stop
    ├── RewardStoppedError            an alarm began after which training was to stop
    ├── ModelCallError                a call to a model gave no reply
    │   ├── AccessError               wrong key, no such model, no credit: every call would fail
    │   ├── BadRequestError           the server refuses this request
    │   │   └── UnsupportedError      the server lacks what was asked for, such as log-probabilities
    │   ├── ContentFilterError        the provider's filter held the request or the reply back
    │   ├── ModelTimeoutError         no reply within the deadline
    │   ├── NoAnswersError            nothing that the model says can be used
    │   ├── RateLimitError            too many requests or tokens; `retry_after_s` may say how long
    │   ├── RefusalError              the model declined to judge
    │   └── ServerError               the server failed, or the connection broke
    ├── StoppedError                  a run of calls was stopped; what came is kept
    │   └── CostLimitReachedError     it has spent what it may
    └── VerdictParseError             a reply cannot be read as the answer that was asked for

    CyclicComparisonsWarning (UserWarning)  preferences that are given to a fit go in cycles
    DegenerateDataWarning (RuntimeWarning)  a figure is undefined (nan) or has too few data
    DoubtfulLabelsWarning (UserWarning)     labels look as if they were not of one study
    DroppedRowsWarning (UserWarning)        labels were set aside; the result lists them
    UncertifiedWarning (UserWarning)        a reward pays for what no certificate vouches for

Anything else that escapes is a bug and keeps its traceback.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire._messages import Problem
    from voirdire._types import ReplyForm

__all__ = [
    "AccessError",
    "AdapterError",
    "BadRequestError",
    "ContentFilterError",
    "CostLimitReachedError",
    "CyclicComparisonsWarning",
    "DegenerateDataWarning",
    "DoubtfulLabelsWarning",
    "DroppedRowsWarning",
    "InputError",
    "JudgeUnavailableError",
    "LogicError",
    "ModelCallError",
    "ModelTimeoutError",
    "NoAnswersError",
    "NoDataError",
    "RateLimitError",
    "RefusalError",
    "RewardStoppedError",
    "RubricError",
    "ServerError",
    "StoppedError",
    "UncertifiedWarning",
    "UnsupportedError",
    "VerdictParseError",
    "VoirdireError",
]


class VoirdireError(Exception):
    """Base of every error that voirdire raises on purpose."""


class AdapterError(VoirdireError, AssertionError):
    """An adapter gives other rewards than the golden table; the message has a line for each."""


class InputError(VoirdireError, ValueError):
    """What the caller gave breaks a rule; the message says which, and one way out."""


class LogicError(InputError):
    """An expression or a completion class of a rubric has no meaning.

    Attributes
    ----------
    where : tuple of str
        Keys of the rubric that lead to it, such as ``("behaviors", "comply", "classes", "ideal")``;
        empty for an expression that is in no rubric.
    column : int or None
        Where in the text of the expression the wrong word begins, from 1.
    """

    def __init__(
        self, message: str, *, where: tuple[str, ...] = (), column: int | None = None
    ) -> None:
        super().__init__(message)
        self.where = where
        self.column = column


class NoDataError(InputError):
    """The input is well formed, but nothing in it can be examined."""


class RubricError(InputError):
    """A document breaks rules; the message says the first of them.

    Documents are files of rubrics, judges, cascades, recipes, rewards and certificates.

    Attributes
    ----------
    problems : tuple of Problem
        All of them, each with its line and column.
    """

    def __init__(self, message: str, *, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


class JudgeUnavailableError(VoirdireError):
    """So many requests in a row gave not one reward that the caller wanted training to stop."""


class RewardStoppedError(VoirdireError):
    """An alarm began after which the caller wanted training to stop."""


class ModelCallError(VoirdireError):
    """A call to a model gave no reply.

    Attributes
    ----------
    reason : str
        What went wrong, in a word or two; what a `Failure` says.
    status : int or None
        The HTTP status, where there was one.
    retry_after_s : float or None
        Seconds that the server asks to wait, at least 0.
    """

    reason = "failed call"

    def __init__(
        self, message: str, *, status: int | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s


class AccessError(ModelCallError):
    """The key is wrong, the model does not exist, or nothing is left to pay with."""

    reason = "no access"


class BadRequestError(ModelCallError):
    """The server refuses this request, such as one that is too long for the model."""

    reason = "bad request"


class UnsupportedError(BadRequestError):
    """The server lacks what was asked for.

    Attributes
    ----------
    feature : str
        ``"json_schema"``, ``"json_object"``, ``"logprobs"``, or another parameter's name.
    """

    reason = "unsupported"

    def __init__(self, message: str, *, feature: str, status: int | None = None) -> None:
        super().__init__(message, status=status)
        self.feature = feature


class NoAnswersError(ModelCallError):
    """Nothing that the model says can be used: the next calls would be paid for nothing."""

    reason = "no usable answers"


class ContentFilterError(ModelCallError):
    """The provider's filter held the request or the reply back."""

    reason = "content filter"


class ModelTimeoutError(ModelCallError):
    """No reply came within the deadline."""

    reason = "timeout"


class RateLimitError(ModelCallError):
    """Too many requests, or too many tokens."""

    reason = "rate limit"


class RefusalError(ModelCallError):
    """The model declined to judge."""

    reason = "refusal by the judge"


class ServerError(ModelCallError):
    """The server failed, said something that is no reply, or the connection broke."""

    reason = "server error"


class StoppedError(VoirdireError):
    """The run was stopped: what was in flight is finished and kept, nothing new is begun."""


class CostLimitReachedError(StoppedError):
    """The run has spent what it may: what was in flight is finished and kept."""


class _Reply(Protocol):
    @property
    def text(self) -> str: ...

    @property
    def form(self) -> ReplyForm: ...


class VerdictParseError(VoirdireError):
    """A reply cannot be read as the answer that was asked for.

    Attributes
    ----------
    reply : Reply
        The whole reply.
    is_refusal : bool
        Whether the model declines in words: it will decline again.
    partial : object or None
        What can be read of it, where that is some answers and not others.
    """

    reason = "unreadable reply"

    def __init__(self, message: str, *, reply: _Reply, is_refusal: bool = False) -> None:
        super().__init__(message)
        self.reply = reply
        self.is_refusal = is_refusal
        self.partial: Any = None
        if is_refusal:
            self.reason = RefusalError.reason


class CyclicComparisonsWarning(UserWarning):
    """Comparisons go in cycles, such as a over b, b over c, c over a: no weights rank all right."""


class DegenerateDataWarning(RuntimeWarning):
    """A figure is undefined, and therefore nan, or has too few data."""


class DroppedRowsWarning(UserWarning):
    """Labels were set aside; the result lists each of them with its reason."""


class DoubtfulLabelsWarning(UserWarning):
    """Labels may not mean what they seem to: not of one study, or of a judge with odd replies."""


class UncertifiedWarning(UserWarning):
    """A reward pays for propositions without a valid certificate, or with one under an odd ε."""
