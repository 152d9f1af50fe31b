"""The record of a training run: its steps and its alarms."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003  # msgspec reads the types
from dataclasses import dataclass, field
from pathlib import Path  # noqa: TC003
from typing import Literal, TypeAlias

from voirdire._types import Threshold  # noqa: TC001
from voirdire.records.tables import Tabular
from voirdire.rewards.certification import CertificateState  # noqa: TC001

AlarmKind: TypeAlias = Literal[
    "missing", "gated", "nonsense", "margin", "saturation", "capped", "length"
]
"""What an alarm is about: rewards that are missing; responses that the gate floors; nonsense;
responses that come near the gate; rewards that no longer tell the responses to a prompt apart;
rewards at the cap; responses that grow."""


@dataclass(frozen=True, kw_only=True)
class Alarm:
    """Something that began at a step of a training run.

    Attributes
    ----------
    kind : {"missing", "gated", "nonsense", "margin", "saturation", "capped", "length"}
        What it is about.
    step : int
        Where it began.
    value : float
        The figure that is out of its range, over the window that ends with the step.
    reference : float
        The same over the first steps of the run; nan where a fixed threshold counts alone.
    text : str
        The alarm in words.
    """

    kind: AlarmKind
    step: int
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
    answered_by : mapping of str to float
        By judge of a cascade the share of the completions that came to it, answered or not; they
        sum to less than 1 where some came to neither. Empty where there is only one judge.
    nonsense_share : float
        Share of nonsense, by `find_nonsense`, among the completions with text, in [0, 1]; nan
        where there are none.
    n_nonsense : int
        Completions that are nonsense.
    gated_share, capped_share : float
        Shares of the completions that the reward's gate stopped, and that are paid its cap, in
        [0, 1].
    margin_mean : float
        Mean distance beyond the threshold of the gate, below 0 for language; nan without gate.
    truncated_share : float
        Share of the completions that the trainer cut off, in [0, 1].
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
    answered_by: Mapping[str, float] = field(default_factory=dict)
    nonsense_share: float = float("nan")
    n_nonsense: int = 0
    gated_share: float = 0.0
    capped_share: float = 0.0
    margin_mean: float = float("nan")
    truncated_share: float = 0.0


@dataclass(frozen=True, kw_only=True)
class RunAbout:
    """What a training run is about: the content of its ``run.json``.

    Attributes
    ----------
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
    classes : mapping of str to tuple of str
        By behavior that the reward knows its completion classes.
    paying : mapping of str to tuple of str
        By behavior the propositions that its reward depends on.
    question_hashes : mapping of str to str
        By proposition the hash of its question: text and examples.
    question_texts : mapping of str to mapping of str to str
        By proposition its text, by language.
    created : str
        When the run began, ISO 8601.
    versions : mapping of str to str
        Of this package, and of the framework where it is known.
    is_centered : bool
        Whether each behavior's mean was taken off its rule rewards.
    certificates : mapping of str to str
        By proposition what the reward's certificates say of the judge of this run: a `state` of
        `voirdire.rewards.certification.CertificateStatus`. Only ``"passed"`` certifies the judge.
    """

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
    classes: Mapping[str, tuple[str, ...]]
    paying: Mapping[str, tuple[str, ...]] = field(repr=False)
    question_hashes: Mapping[str, str] = field(repr=False)
    question_texts: Mapping[str, Mapping[str, str]] = field(repr=False)
    created: str
    versions: Mapping[str, str] = field(repr=False)
    is_centered: bool
    certificates: Mapping[str, CertificateState] = field(repr=False)

    @property
    def behaviors(self) -> tuple[str, ...]:
        """Those that the reward knows, in its order."""
        return tuple(self.classes)


@dataclass(frozen=True, kw_only=True)
class TrainingRun(RunAbout, Tabular, rows="steps"):
    """What was written down of a training run, and the figures of its steps.

    Attributes
    ----------
    name, framework, reward_name, ...
        As of `RunAbout`.
    folder : Path
        Where it lies.
    steps : tuple of TrainingStep
        In their order, each once.
    alarms : tuple of Alarm
        All that began, in the order of the steps.
    length_unit : {"tokens", "characters"}
        What lengths are counted in.
    dropped : tuple of str
        Parts that could not be read, and why.
    gaps : tuple of tuple of int
        The step before and the step after each gap of more steps than usually lie between two.
    """

    folder: Path
    steps: tuple[TrainingStep, ...] = field(repr=False)
    alarms: tuple[Alarm, ...] = field(repr=False)
    length_unit: Literal["tokens", "characters"] = "tokens"
    dropped: tuple[str, ...] = ()
    gaps: tuple[tuple[int, int], ...] = ()

    @property
    def n_completions(self) -> int:
        """Completions of all steps."""
        return sum(step.n for step in self.steps)
