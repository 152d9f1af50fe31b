"""The records that travel between the layers: frozen, small, and versioned where they are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CERTIFICATE_SCHEMA", "Certificate", "Dropped", "Failure"]

CERTIFICATE_SCHEMA = "voirdire.certificate/1"


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """A judge's call that gave no usable answer; never a score.

    Attributes
    ----------
    reason : str
        What went wrong, in a word or a sentence (``"timeout"``, ``"unreadable reply"``).
    """

    reason: str = "failed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Dropped:
    """A label or row that was set aside, and why.

    Attributes
    ----------
    reason : str
        The rule that it broke, in words.
    source : str
        File name, or ``"humans"`` / ``"judge"`` for labels given in memory.
    line : int or None
        1-based line of a text file, or row of a table; None in memory.
    column : str or None
        The column or key at fault.
    item, rater, question : str or None
        Whose answer about what, as far as it is known.
    value : str or None
        What stood there, shortened for display.
    """

    reason: str
    source: str
    line: int | None = None
    column: str | None = None
    item: str | None = None
    rater: str | None = None
    question: str | None = None
    value: str | None = None

    def place(self) -> str:
        """Where it stood: ``source``, ``source:line`` or ``source:line: column `x```."""
        where = self.source if self.line is None else f"{self.source}:{self.line}"
        return where if self.column is None else f"{where}: column `{self.column}`"


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """The reproducible record of an examination.

    Two runs over the same labels with the same settings write the same certificate, but for
    `created` and `versions`; `content_hash` covers everything else.

    Attributes
    ----------
    schema : str
        ``"voirdire.certificate/1"``.
    created : str
        UTC time, ISO 8601.
    versions : mapping of str to str
        voirdire, Python and the numerical libraries.
    data_hash : str
        SHA-256 over the canonical human annotations that were examined against.
    gold_hash : str or None
        The same over gold labels, where they stood for the annotators.
    judges : mapping of str to mapping
        For each judge the SHA-256 over its labels, and its fingerprint where it has one.
    rubric_hash : str or None
        Content hash of the rubric, where the questions come from one.
    settings : mapping
        ε with its stated reason, alignment, method, thresholds and seed, fixed before the run.
    examinations : sequence of mapping
        Every figure, as `examine --json` prints it.
    outcomes : mapping of str to str
        Per question, judge, alignment and ε: ``passed``, ``failed`` or ``no_evidence``.
    content_hash : str
        SHA-256 over the canonical JSON of everything but `created`, `versions` and itself.
    """

    schema: str
    created: str
    versions: Mapping[str, str]
    data_hash: str
    gold_hash: str | None
    judges: Mapping[str, Mapping[str, Any]]
    rubric_hash: str | None
    settings: Mapping[str, Any]
    examinations: tuple[Mapping[str, Any], ...]
    outcomes: Mapping[str, str]
    content_hash: str
