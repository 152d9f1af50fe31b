"""The record of a training run: its steps, its alarms, and its reference run."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003  # msgspec reads the types
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from voirdire.rewards.certification import CertificateState  # noqa: TC001

if TYPE_CHECKING:
    from pathlib import Path

    from voirdire._types import Threshold

__all__ = [
    "ALARM_KINDS",
    "Alarm",
    "AlarmKind",
    "CertifiedExamination",
    "PropositionCertificate",
    "Reference",
    "TrainingRun",
    "TrainingStep",
]

AlarmKind: TypeAlias = Literal["missing", "saturation", "drift", "length", "spread", "nonsense"]
"""What an alarm is about: rewards that are missing; a reward that no longer tells responses
apart; answers unlike those of the reference run; responses that grow, or are paid by length;
rewards that no longer differ; nonsense that gets more frequent, or that the reward pays for."""

ALARM_KINDS: tuple[AlarmKind, ...] = get_args(AlarmKind)
"""In the order in which they are shown."""


@dataclass(frozen=True, kw_only=True)
class Alarm:
    """Something that began at a step of a training run.

    Attributes
    ----------
    kind : {"missing", "saturation", "drift", "length", "spread", "nonsense"}
        What it is about.
    step : int
        Where it began.
    subject : str
        What of the run: the id of a proposition, ``"<behavior>/<class>"``, or ``"reward"``,
        ``"groups"``, ``"length"``, ``"length and reward"``, ``"nonsense"``,
        ``"nonsense and reward"``.
    value : float
        The figure that is out of its range, over the window that ends with the step.
    reference : float
        What it was held against; nan where it is a fixed threshold alone.
    text : str
        The alarm in words.
    """

    kind: AlarmKind
    step: int
    subject: str
    value: float
    reference: float
    text: str


@dataclass(frozen=True, kw_only=True)
class TrainingStep:
    """Figures of one step, over all processes of the training.

    Attributes
    ----------
    step : int
        The trainer's; counted where the trainer has none.
    n : int
        Completions that the reward was asked about.
    reward_mean, reward_sd : float
        Over the completions that have a reward; nan where there is none. The standard deviation
        divides by one less than their number, and is nan of fewer than two.
    rule_mean, base_mean : float
        Mean rule and base reward over the same completions; nan where there is none.
    missing_share : float
        Share of the completions without a reward, in [0, 1].
    proposition_rates : mapping of str to float
        By proposition its mean probability; nan where no completion has one.
    class_shares : mapping of str to mapping of str to float
        By behavior and class the mean probability of the class; nan where no completion of that
        behavior was judged.
    length_mean : float
        Mean tokens of a completion, or characters where the tokens are not known; nan without
        completions.
    length_reward_correlation : float
        Pearson's correlation of length and reward over the completions with a reward, in
        [-1, 1]; nan where either does not vary.
    zero_spread_share : float
        Share of the groups of two or more rewards whose rewards are all equal, in [0, 1]; nan
        where there is no such group.
    alarms : tuple of Alarm
        Those that began here.
    n_missing : int
        Completions without a reward.
    n_groups : int
        Groups of two or more rewards.
    seconds : float
        Since the first step of the run; nan where it is not known.
    n_by_behavior : mapping of str to int
        By behavior the completions whose classes are known.
    answered_by : mapping of str to float
        By judge of a cascade the share of the completions that came to it, answered or not; they
        sum to less than 1 where some came to neither. Empty where there is only one judge.
    nonsense_share : float
        Share of nonsense, by `find_nonsense`, among the completions with text, in [0, 1]; nan
        where there are none, or nobody looked for it.
    n_nonsense : int
        Completions that are nonsense.
    nonsense_gain : float
        How much more reward nonsense gets than the other completions of its group, in points: the
        mean over nonsense with a reward of its reward less the mean reward of those; nan where
        there is none.
    """

    step: int
    n: int
    reward_mean: float
    reward_sd: float
    rule_mean: float
    base_mean: float
    missing_share: float
    proposition_rates: Mapping[str, float]
    class_shares: Mapping[str, Mapping[str, float]]
    length_mean: float
    length_reward_correlation: float
    zero_spread_share: float
    alarms: tuple[Alarm, ...] = ()
    n_missing: int = 0
    n_groups: int = 0
    seconds: float = float("nan")
    n_by_behavior: Mapping[str, int] = field(default_factory=dict)
    answered_by: Mapping[str, float] = field(default_factory=dict)
    nonsense_share: float = float("nan")
    n_nonsense: int = 0
    nonsense_gain: float = float("nan")


@dataclass(frozen=True, kw_only=True)
class Reference:
    """An earlier run that a run was held against.

    Attributes
    ----------
    name : str
        Of that run.
    reward_name, reward_hash : str
        Of the reward that paid in it.
    length_unit : {"tokens", "characters"}
        What its lengths are counted in.
    steps : tuple of TrainingStep
        Its steps.
    """

    name: str
    reward_name: str
    reward_hash: str
    steps: tuple[TrainingStep, ...] = field(repr=False)
    length_unit: Literal["tokens", "characters"] = "tokens"


@dataclass(frozen=True, kw_only=True)
class CertifiedExamination:
    """One examination of a judge on one proposition, as its certificate has it.

    Attributes
    ----------
    epsilon : float
        The margin, fixed before the labels were examined.
    alignment : str
        How closeness was measured.
    outcome : str
        ``"passed"``, ``"failed"`` or ``"no_evidence"``.
    winning_rate, advantage_probability : float
        ω and ρ, in [0, 1]; nan where they are undefined.
    n_items, n_annotators : int
        What it rests on.
    """

    epsilon: float
    alignment: str
    outcome: str
    winning_rate: float
    advantage_probability: float
    n_items: int
    n_annotators: int


@dataclass(frozen=True, kw_only=True)
class PropositionCertificate:
    """What the certificates of a run's reward say of one proposition.

    Attributes
    ----------
    state : str
        As `voirdire.rewards.certification.CertificateStatus` has it; only ``"passed"`` certifies
        the judge. ``"other_judge"`` also where another one judged in the run.
    reason : str
        The same in words.
    certificate : str or None
        Content hash of the certificate that says so.
    examinations : tuple of CertifiedExamination
        Those of the proposition in that certificate, the first ten; none where it is about
        another judge or another rubric.
    """

    state: CertificateState
    reason: str
    certificate: str | None = None
    examinations: tuple[CertifiedExamination, ...] = ()

    @property
    def is_valid(self) -> bool:
        """Whether the judge is certified for the proposition."""
        return self.state == "passed"


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    """What was written down of a training run.

    Attributes
    ----------
    folder : Path
        Where it lies.
    name : str
        Of the reward among others in the same training.
    framework : str
        Who trained.
    reward_name, reward_hash : str
        Of the reward that paid.
    rubric : str
        Name and version of the rubric, such as ``"safety 1"``.
    rubric_hash : str
        Of the rubric's content.
    class_rule : str
        How completion classes got their probabilities.
    judge : str
        Who answered.
    fingerprint : str
        Of the verdicts: judge, questions and settings.
    judge_fingerprint : str
        Of the judge alone; empty where it is not known.
    threshold : float, or mapping of str to float
        From which on a probability counts as true, in (0, 1).
    judged : str
        What of a response was judged.
    propositions : tuple of str
        Those that were asked, in the order of the rubric.
    paying : mapping of str to tuple of str
        By behavior the propositions that its reward depends on.
    question_hashes : mapping of str to str
        By proposition the hash of its question: text and examples.
    question_texts : mapping of str to mapping of str to str
        By proposition its text, by language.
    behaviors : tuple of str
        Those that the reward knows, in its order.
    steps : tuple of TrainingStep
        In their order, each once.
    alarms : tuple of Alarm
        All that began, in the order of the steps.
    reference : tuple of TrainingStep or None
        The steps of the reference run, where there was one.
    reference_run : Reference or None
        The same with its names.
    length_unit : {"tokens", "characters"}
        What lengths are counted in.
    created : str
        When the run began, ISO 8601.
    versions : mapping of str to str
        Of this package, and of the framework where it is known.
    n_writers : int
        Processes that wrote.
    is_centered : bool
        Whether each behavior's mean was taken off its rule rewards.
    certificates : mapping of str to PropositionCertificate or None
        By proposition what the reward's certificates say of the judge of this run; None where it
        was not recorded, as in runs that an earlier version began.
    dropped : tuple of str
        Parts, or lines of a run of version 0.1.0, that could not be read, and why.
    """

    folder: Path
    name: str
    framework: str
    reward_name: str
    reward_hash: str
    rubric: str
    rubric_hash: str
    judge: str
    fingerprint: str
    judge_fingerprint: str
    threshold: Threshold
    judged: str
    propositions: tuple[str, ...]
    question_hashes: Mapping[str, str] = field(repr=False)
    behaviors: tuple[str, ...]
    steps: tuple[TrainingStep, ...] = field(repr=False)
    alarms: tuple[Alarm, ...] = field(repr=False)
    reference_run: Reference | None = field(default=None, repr=False)
    class_rule: str = "exact"
    paying: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    question_texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    length_unit: Literal["tokens", "characters"] = "tokens"
    created: str = ""
    versions: Mapping[str, str] = field(default_factory=dict, repr=False)
    n_writers: int = 1
    is_centered: bool = False
    certificates: Mapping[str, PropositionCertificate] | None = field(default=None, repr=False)
    dropped: tuple[str, ...] = ()

    @property
    def reference(self) -> tuple[TrainingStep, ...] | None:
        """The steps of the reference run, where there was one."""
        return None if self.reference_run is None else self.reference_run.steps

    @property
    def n_completions(self) -> int:
        """Completions of all steps."""
        return sum(step.n for step in self.steps)
