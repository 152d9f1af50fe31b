"""Defines the reproducible record of an examination."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003  # what reads the JSON looks at the types
from dataclasses import dataclass, fields
from typing import Any

from voirdire.records.tables import Tabular

CERTIFICATE_SCHEMA = "voirdire.certificate/1"


@dataclass(frozen=True, kw_only=True)
class Certificate(Tabular, rows="examinations"):
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
    population : str or None
        Which items the examined ones stand for, in words; left out of the file where nobody said.
    against_majority : mapping of str to mapping, or None
        For booleans and choices, by question and judge: each figure of the judge beside the
        annotators' majority with the ends of its interval, such as ``{"auc": [0.93, 0.88,
        0.96]}``; left out of files of versions before it.
    stop : sequence of mapping, or None
        Where people were watched while they labelled, what each judge passed or did not pass by,
        with the labels of every closed item; left out elsewhere.
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
    population: str | None = None
    against_majority: Mapping[str, Mapping[str, Any]] | None = None
    stop: tuple[Mapping[str, Any], ...] | None = None
    outcomes: Mapping[str, str]
    content_hash: str

    def as_dict(self) -> dict[str, Any]:
        """Return the certificate as its file has it."""
        content = {each.name: getattr(self, each.name) for each in fields(self)}
        optional = ("population", "against_majority", "stop")
        return {k: x for k, x in content.items() if x is not None or k not in optional}
