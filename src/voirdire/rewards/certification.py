"""Read certificates from files, and decide which propositions of a reward they certify."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import Field

from voirdire._messages import list_names, shorten
from voirdire.documents import Form, closest, content_digest, read_document
from voirdire.errors import InputError, UncertifiedWarning
from voirdire.models.port import RULES
from voirdire.records import CERTIFICATE_SCHEMA, Certificate
from voirdire.records.thresholds import get_thresholds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from voirdire.documents import Document
    from voirdire.documents import Path as Keys
    from voirdire.records import Verdicts
    from voirdire.rewards.model import RewardModel
    from voirdire.rubrics import Rubric

CertificateState: TypeAlias = Literal[
    "passed", "failed", "no_evidence", "other_judge", "other_rubric", "no_judge", "none"
]
"""What the certificates of a reward say of a proposition; only the first one certifies it."""

_MOST_NAMED = 10
_ADVISED = {0.2: "experts", 0.15: "skilled", 0.1: "a crowd"}
"""Margins by what annotators are, as the authors of the test advise."""

_UNADVISED = "a margin that is advised for no annotators"
_WIDEST = 0.3
_TOO_WIDE = f"a margin above {_WIDEST:g}, which certifies nothing"
_ORDER: tuple[CertificateState, ...] = (
    "failed",
    "no_evidence",
    "passed",
    "other_judge",
    "other_rubric",
)
"""Where certificates differ, the first of these states that one of them has counts."""


@dataclass(frozen=True, kw_only=True)
class CertificateStatus:
    """What the certificates of a reward say of one proposition.

    Attributes
    ----------
    proposition : str
        Its id.
    state : str
        ``"passed"``: certified. ``"failed"`` and ``"no_evidence"``: examined, and not good
        enough. ``"other_judge"``, ``"other_rubric"``: what was examined is not what this reward
        uses. ``"no_judge"``: the weights were given by hand for any judge. ``"none"``: never
        examined.
    reason : str
        The same in words, with the figures that differ.
    certificate : str or None
        Content hash of the certificate that says so.
    """

    proposition: str
    state: CertificateState
    reason: str
    certificate: str | None = None

    @property
    def is_valid(self) -> bool:
        """Whether the proposition is certified."""
        return self.state == "passed"


def certified(model: RewardModel) -> dict[str, CertificateStatus]:
    """Tell for each proposition and weighed question of a reward whether it has a certificate.

    Parameters
    ----------
    model : RewardModel
        With its certificates.

    Returns
    -------
    dict of str to CertificateStatus
        By proposition, in the order of the rubric.

    Notes
    -----
    A certificate is about a proposition where one of its judges has the fingerprint of the
    reward's judge, and no other, and was examined on the question of that name. The fingerprint
    covers judge, rubric, threshold and what is judged. An examination under another threshold
    does not count, since any judge passes under a threshold that was chosen afterwards. Nor does an
    examination under an ε above .3, which nearly any judge passes. A certificate that names a
    rubric must name that of the reward. All examinations of the proposition in a certificate must
    have passed, and no other certificate may contradict it: the ε must not be chosen afterwards.
    """
    statuses = {}
    for name in (*model.rubric.propositions, *model.questions):
        state: CertificateState = "none"
        reason, certificate = "never examined", None
        if model.certificates and not model.judge.fingerprint:
            state, reason = "no_judge", "the weights were given by hand, for any judge"
        else:
            readings = [
                (*reading, row.content_hash)
                for row in model.certificates
                if (reading := _read_status(model, row, name)) is not None
            ]
            if readings:
                state, reason, certificate = min(readings, key=lambda row: _ORDER.index(row[0]))
        statuses[name] = CertificateStatus(
            proposition=name, state=state, reason=reason, certificate=certificate
        )
    return statuses


def list_paying_propositions(model: RewardModel) -> tuple[str, ...]:
    """List the propositions that rewards depend on and that a judge answers, not a rule in code.

    A weight other than 0, a class with such a weight, and a veto make the reward depend on them.
    """
    if model.criteria is not None:
        is_judged = bool(model.behaviors) and model.judge.made_by.get("judge") != RULES
        return model.rubric.propositions if is_judged else ()
    paying: set[str] = set()
    for behavior, row in model.behaviors.items():
        features = model.feature_set(behavior)
        paying.update(name for name in features.propositions if row.weights[name] != 0)
        paying |= set(row.vetoes)
        if any(row.weights[name] != 0 for name in features.classes):
            paying.update(model.rubric.logic.compile_classes(behavior).variables)
    is_judged = {row.id: row.rule is None for row in model.rubric.questions}
    return tuple(name for name in model.rubric.propositions if name in paying and is_judged[name])


def check_certified(model: RewardModel, *, required: bool, stacklevel: int = 2) -> None:
    """Warn of propositions that pay without a valid certificate, or refuse them.

    Parameters
    ----------
    model : RewardModel
        With its certificates.
    required : bool
        Whether it is an error.
    stacklevel : int, optional
        Whose line the warning names, as in `warnings.warn`; 2 is the caller's.

    Raises
    ------
    InputError
        If certificates are required and some proposition that pays has none.

    Warns
    -----
    UncertifiedWarning
        If they are not required; also if a certificate rests on an ε that is not advised for any
        kind of annotators and is not stricter than all that are.
    """
    statuses, name = certified(model), shorten(model.name)
    paying = [statuses[x] for x in (*list_paying_propositions(model), *model.questions)]
    if names := [x.proposition for x in paying if x.is_valid and _UNADVISED in x.reason]:
        advised = ", ".join(f"{epsilon:g} for {kind}" for epsilon, kind in _ADVISED.items())
        msg = (
            f"reward {name!r} has certificates under a margin ε that is not among the advised ones "
            f"({advised}) for {list_names(names)}. A judge passes under any margin that is wide "
            "enough."
        )
        warnings.warn(msg, UncertifiedWarning, stacklevel=stacklevel)
    lacking = [row for row in paying if not row.is_valid]
    if not lacking:
        return
    if required:
        reasons = "; ".join(f"{row.proposition}: {row.reason}" for row in lacking)
        msg = (
            "`require_certified` must find a valid certificate for every proposition with a "
            f"weight; reward {name!r} lacks {len(lacking)} ({reasons}). Examine its "
            "judge with `voirdire examine --certificate`, and fit with that certificate."
        )
        raise InputError(msg)
    names = [row.proposition for row in lacking]
    count = "1 proposition" if len(names) == 1 else f"{len(names)} propositions"
    msg = (
        f"reward {name!r} pays for {count} without a valid certificate: {list_names(names)}. "
        "Nobody has shown that its judge may replace people there."
    )
    warnings.warn(msg, UncertifiedWarning, stacklevel=stacklevel)


def find_certified_tags(
    certificates: Sequence[Certificate], verdicts: Verdicts, rubric: Rubric, *, tags: Sequence[str]
) -> dict[str, CertificateState]:
    """Say by tag, and for all criteria, whether the judge of verdicts on criteria has passed."""
    about: dict[str, Any] = {"judge": verdicts, "rubric": rubric, "certificates": certificates}
    model: Any = SimpleNamespace(**about, questions=tuple(tags))
    return {name: row.state for name, row in certified(model).items()}


def _read_status(
    model: RewardModel, certificate: Certificate, proposition: str
) -> tuple[CertificateState, str] | None:
    """Read the status that one certificate gives; None where it is not about the proposition."""
    rows = [row for row in certificate.examinations if row.get("question") == proposition]
    if not rows:
        return None
    if certificate.rubric_hash not in (None, model.rubric.content_hash):
        other = shorten(certificate.rubric_hash, width=19)
        return "other_rubric", f"examined under another rubric ({other})"
    fingerprints = {
        # none, one, or those of several runs
        name: {*map(str, x)} if isinstance(x := about.get("fingerprint"), list | tuple) else {x}
        for name, about in certificate.judges.items()
    }
    own = model.judge.fingerprint
    of_judge = [row for row in rows if own in fingerprints.get(str(row.get("judge")), ())]
    alone = [row for row in of_judge if len(fingerprints[str(row.get("judge"))]) == 1]
    if not alone:
        reason = "examined for another judge or other settings of it"
        if of_judge:  # the certificate does not record which run asked which question
            reason = "examined together with verdicts of other runs"
        names = ", ".join(sorted({repr(shorten(str(row.get("judge")))) for row in rows}))
        return "other_judge", f"{reason} ({names})"
    threshold = certificate.settings.get("threshold")
    if isinstance(threshold, Mapping):
        threshold = threshold.get(proposition)
    [own_threshold] = get_thresholds(model.judge.threshold, [proposition])
    if isinstance(threshold, int | float) and threshold != own_threshold:
        reason = f"examined under the threshold {threshold:g} instead of {own_threshold:g}"
        return "other_judge", reason
    worst = [
        row
        for row in alone
        if row.get("outcome") != "passed" or _explain_margin(row.get("epsilon")) == _TOO_WIDE
    ]
    figures = ", ".join(
        f"{shorten(str(row.get('outcome')))} at ε {shorten(str(row.get('epsilon')))} "
        f"({shorten(str(row.get('alignment')))}; {_explain_margin(row.get('epsilon'))})"
        for row in (worst or alone)[:_MOST_NAMED]
    )
    is_failed = any(row.get("outcome") == "failed" for row in worst)
    return "failed" if is_failed else "no_evidence" if worst else "passed", figures


def _explain_margin(epsilon: Any) -> str:
    """Explain for which annotators a margin is advised."""
    if not isinstance(epsilon, int | float):  # a certificate may be a stranger's
        return _UNADVISED
    if epsilon in _ADVISED:
        return f"advised where annotators are {_ADVISED[epsilon]}"
    if epsilon < min(_ADVISED):
        return "stricter than advised for any annotators"
    return _TOO_WIDE if epsilon > _WIDEST else _UNADVISED


# The file ----------------------------------------------------------------------------------

_UNHASHED = ("created", "versions", "content_hash")


class _Form(Form):
    """The form of a certificate in a file."""

    schema_: Annotated[str, Field(alias="schema")]
    created: str
    versions: dict[str, str]
    data_hash: str
    gold_hash: str | None
    judges: dict[str, dict[str, Any]]
    rubric_hash: str | None
    settings: dict[str, Any]
    examinations: list[dict[str, Any]]
    outcomes: dict[str, str]
    content_hash: str
    population: str | None = None
    against_majority: dict[str, dict[str, Any]] | None = None
    stop: list[dict[str, Any]] | None = None


def read_certificate(path: Certificate | str | Path) -> Certificate:
    """Read a certificate that `voirdire examine --certificate` wrote.

    Parameters
    ----------
    path : str or path
        A JSON file of at most 64 MiB; a certificate is returned as it is.

    Returns
    -------
    Certificate
        Undefined figures are None.

    Raises
    ------
    InputError
        If it is no certificate, of a newer form, or was changed after it was written.

    Notes
    -----
    The hash shows that a file was changed, not who wrote it: nothing is signed.
    """
    if isinstance(path, Certificate):
        return path
    return make_certificate(read_document(path, what="a certificate", layout="json"))


def make_certificate(
    document: Document, path: Keys = (), *, what: str = "a certificate"
) -> Certificate:
    """Make a certificate from the part of a document at a path, and check its hash."""
    schema = document.get((*path, "schema"))
    if schema != CERTIFICATE_SCHEMA:
        got = shorten(schema) if isinstance(schema, str) else "no schema"
        message = (
            f"{what} must be of the form {CERTIFICATE_SCHEMA!r}, got {got!r}. "
            f"`voirdire examine --certificate` writes one.{suggest_schema(document.get(path))}"
        )
        raise document.error_at((*path, "schema"), message)
    form = document.read(_Form, path, what=what)
    if form is None:
        raise document.error()
    fields = {
        field.alias or name: getattr(form, name) for name, field in _Form.model_fields.items()
    }
    certificate = Certificate(**(fields | {"examinations": tuple(form.examinations)}))
    content = {k: x for k, x in certificate.as_dict().items() if k not in _UNHASHED}
    if (expected := content_digest(content)) != form.content_hash:
        message = (
            f"{what} must be as it was written, got one that was changed: its "
            f"content_hash is {shorten(form.content_hash, width=19)!r}, its content gives "
            f"{shorten(expected, width=19)!r}. Examine again."
        )
        raise document.error_at((*path, "content_hash"), message)
    return certificate


def suggest_schema(content: Any) -> str:
    """Suggest the field that may be a misspelt `schema`, as a sentence that begins with a space."""
    is_there = not isinstance(content, dict) or "schema" in content
    word = None if is_there else closest("schema", content)
    return "" if word is None else f" Was `{shorten(word)}` meant for `schema`?"
