"""A reward: weights per behavior, with the rubric, the judge and the certificates they need."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire._messages import shorten
from voirdire.documents import content_digest, plain_json, write_json
from voirdire.errors import InputError
from voirdire.records.items import SCORE
from voirdire.rewards.criteria import CRITERIA
from voirdire.rubrics import Behavior, CompletionClass, rubric_to_yaml

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping, Sequence

    import numpy as np
    import polars as pl
    from numpy.typing import ArrayLike, NDArray

    from voirdire._types import Orientation
    from voirdire.judging.jury import JudgeLike
    from voirdire.records import Certificate, Verdicts
    from voirdire.rewards.criteria import CriteriaRule
    from voirdire.rewards.features import FeatureSet
    from voirdire.rewards.guards import BehaviorGuard, GateSettings
    from voirdire.rewards.reward_judge import RewardJudge
    from voirdire.rewards.scores import Scores
    from voirdire.rubrics import Rubric

REWARD_SCHEMA = "voirdire.reward/1"

ANY_REWARD = REWARD_SCHEMA.partition("/")[0] + "/"
"""What the schema of a reward of any version begins with."""

_HEAD_BYTES = 2_048


@dataclass(frozen=True, kw_only=True)
class BehaviorReward:
    """The reward of one behavior.

    Attributes
    ----------
    behavior : str
        Its id.
    weights : mapping of str to float
        By feature, in the order of the features; every feature has one.
    mean, standard_deviation : float
        Of the rule reward over the completions that it was fitted on: where its origin and scale
        are; nan where it was fitted on none.
    mean_ideal : float
        Mean rule reward of the best label or class; nan where there is none.
    vetoes : tuple of str
        Propositions of the rubric: a response of which one holds lies below all
        others. What it loses is the weight of the feature ``"(veto)"``.
    figures : mapping of str to object
        Figures of the fit: numbers of prompts and pairs, λ, error rates and intervals.
    guard : BehaviorGuard or None
        What is checked before its linear rules; None for nothing.
    """

    behavior: str
    weights: Mapping[str, float] = field(repr=False)
    mean: float = float("nan")
    standard_deviation: float = float("nan")
    mean_ideal: float = float("nan")
    vetoes: tuple[str, ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict, repr=False)
    guard: BehaviorGuard | None = None


@dataclass(frozen=True, kw_only=True)
class RewardModel:
    r"""A linear reward: :math:`R = R_{base} + \sum_k w_k \varphi_k`, one w per behavior.

    Attributes
    ----------
    name : str
        What scores call it.
    rubric : Rubric
        Whole, so that a score needs nothing else.
    orientation : {"plain", "demanded"}
        Of the features.
    judge : RewardJudge
        Whose verdicts it takes.
    behaviors : mapping of str to BehaviorReward
        By id; a behavior that is not here has no reward.
    settings : mapping of str to object
        How it was fitted.
    data_hash : str
        Of the comparisons; empty where the weights were given by hand.
    certificates : tuple of Certificate
        Of the examinations of its judge.
    created : str
        UTC time, ISO 8601.
    versions : mapping of str to str
        voirdire, Python and the numerical libraries.
    gate : GateSettings or None
        Of the gate that stops what is no answer; None where there is none.
    criteria : CriteriaRule or None
        How it pays the criteria that items bring, in place of propositions; see
        `reward_of_criteria`.
    """

    name: str
    rubric: Rubric
    orientation: Orientation = "plain"
    judge: RewardJudge
    behaviors: Mapping[str, BehaviorReward]
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    data_hash: str = ""
    certificates: tuple[Certificate, ...] = field(default=(), repr=False)
    created: str = ""
    versions: Mapping[str, str] = field(default_factory=dict, repr=False)
    gate: GateSettings | None = None
    criteria: CriteriaRule | None = None

    @cached_property
    def content_hash(self) -> str:
        """``sha256:`` and 64 digits over everything but `created` and `versions`.

        Of the rubric and of certificates their own hashes count: where a rubric was read from, and
        when an examination was made, is no part of what a reward is.
        """
        marks = [certificate.content_hash for certificate in self.certificates]
        rubric_hash = self.rubric.content_hash
        return content_digest(_list_content(self) | {"rubric": rubric_hash, "certificates": marks})

    @property
    def uses_base(self) -> bool:
        """Whether the weights were made to stand beside a base reward, and need one."""
        return bool(self.settings.get("use_base"))

    @cached_property
    def questions(self) -> tuple[str, ...]:
        """The scale and choice questions whose answers it weighs, in the rubric's order."""
        from voirdire.rewards.features import find_number_questions

        names = {name for row in self.behaviors.values() for name in row.weights}
        return find_number_questions(self.rubric, names)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """What it takes of verdicts: propositions of the rubric, then answers as numbers.

        Of criteria: their score, then its parts by tag.
        """
        if self.criteria is not None:
            return self.criteria.columns
        answers = (self.rubric.question(name).number_names for name in self.questions)
        return (*self.rubric.propositions, *(name for names in answers for name in names))

    @property
    def behavior_rubric(self) -> Rubric:
        """The rubric with the behaviors that are paid: of criteria one that demands nothing."""
        if self.criteria is None:
            return self.rubric
        classes = (("ideal", "is_met"), ("less_good", "otherwise"))
        of_item = Behavior(
            id=CRITERIA,
            demands={},
            classes=tuple(CompletionClass(name=name, when=when) for name, when in classes),
        )
        return replace(self.rubric, behaviors=(of_item,))

    def behavior(self, behavior_id: str) -> BehaviorReward:
        """Find the reward of a behavior; an `InputError` if there is none."""
        reward = self.behaviors.get(behavior_id)
        if reward is None:
            weighed = ", ".join(map(repr, self.behaviors)) or "none"
            msg = (
                f"`behavior` must be one that reward {shorten(self.name)!r} has weights for "
                f"({weighed}), got {shorten(behavior_id)!r}."
            )
            raise InputError(msg)
        return reward

    def feature_set(self, behavior: str) -> FeatureSet:
        """List the features of a behavior, in the order of its weights."""
        from voirdire.rewards.features import FeatureSet, list_weighed_features

        if self.criteria is not None:
            return FeatureSet(behavior=behavior, propositions=(SCORE,), flipped=(False,),
                              classes=(), orientation="plain")  # fmt: skip
        reward = self.behaviors.get(behavior)
        weighed = () if reward is None else reward.weights
        features = list_weighed_features(
            self.rubric, behavior, weighed, orientation=self.orientation
        )
        if reward is None:
            return features
        return replace(features, vetoes=reward.vetoes)

    def weight_vector(self, behavior: str) -> NDArray[np.float64]:
        """Give the weights of a behavior, in the order of `feature_set`."""
        import numpy as np

        weights = self.behavior(behavior).weights
        return np.array([weights[name] for name in self.feature_set(behavior).names])

    def features(self, behavior: str, judged: Verdicts) -> NDArray[np.float64]:
        """Compute the features of items under one behavior, whatever their own behavior is.

        Parameters
        ----------
        behavior : str
            Such as ``"hard_refuse"``.
        judged : Verdicts
            Their verdicts.

        Returns
        -------
        ndarray of float, shape (n_items, n_features)
            nan where a verdict that the feature needs is missing.
        """
        return self.feature_values(behavior, judged.probabilities, propositions=judged.questions)

    def feature_values(
        self, behavior: str, probabilities: ArrayLike, *, propositions: Sequence[str]
    ) -> NDArray[np.float64]:
        """Do what `features` does from numbers, a column for each proposition and answer."""
        import numpy as np

        from voirdire.rewards.features import compute_features, compute_vetoes

        if self.criteria is not None:
            return np.asarray(probabilities)[:, [propositions.index(SCORE)]]
        features = self.feature_set(behavior)
        values = compute_features(
            features, self.rubric, probabilities=probabilities, columns=propositions
        )
        if not features.vetoes:
            return values
        vetoed = compute_vetoes(
            features.vetoes,
            probabilities=probabilities,
            propositions=propositions,
            threshold=self.judge.threshold,
        )
        return np.insert(values, len(features.asked), vetoed, axis=1)

    def rule_rewards(self, behavior: str, judged: Verdicts) -> NDArray[np.float64]:
        """Weigh the features of items under one behavior, whatever their own behavior is.

        `score` may pay less: gate, cap and the look behind refusals are not applied here.

        Parameters
        ----------
        behavior : str
            One that the reward has weights for.
        judged : Verdicts
            Their verdicts.

        Returns
        -------
        ndarray of float, shape (n_items,)
            nan where a feature whose weight is not 0 is missing.
        """
        from voirdire.rewards.scores import sum_features

        return sum_features(self.features(behavior, judged), self.weight_vector(behavior))

    def score(
        self,
        items: Any,
        *,
        verdicts: Any = None,
        judge: JudgeLike | None = None,
        base_rewards: ArrayLike | Mapping[str, float] | None = None,
        behavior: str | None = None,
        center: bool = False,
        store: str | Path | None = None,
        retry_failures: bool = False,
        other_judge: bool = False,
        stopping: threading.Event | None = None,
    ) -> Scores:
        """Give items their rewards, from stored verdicts or by judging them now.

        Parameters
        ----------
        items : sequence of Item or of mapping, or a data frame
            Items, or rows as a file of items has them.
        verdicts : optional
            What `read_verdicts` reads: a `Verdicts`, a data frame of verdicts, or files of
            them. By default the items are judged.
        judge : Judge, LlmJudge, CascadeJudge, JuryJudge, str or path, optional
            Who judges. ``"own"`` is the judge that the reward was made with, made again; that is
            the default where it is the one that ships with voirdire. With `verdicts`, the name of
            the judge whose verdicts count, where there are several.
        base_rewards : array_like or mapping, optional
            What another reward model gave: one number per item, or by item id. By default the
            items' own `base_reward`, where the reward was fitted beside one, and else nothing.
        behavior : str, optional
            The behavior of items that have none.
        center : bool, optional
            Take off the mean that each behavior's rule rewards had in the fit, so that behaviors
            compare.
        store : str or path, optional
            Where a language model's replies are kept, as in `voirdire.judge`.
        retry_failures : bool, optional
            Call a language model again where it failed in an earlier run.
        other_judge : bool, optional
            Take verdicts of another judge than the weights were fitted on. Certificates say
            nothing of that one.
        stopping : threading.Event, optional
            Set it from another thread to end calls to a language model, as Ctrl-C does.

        Returns
        -------
        Scores
            One reward per item, in their order; nan with a reason where there is none.

        Raises
        ------
        InputError
            If the judge is another one, there is no judge, or an argument breaks its rule; if
            `judge` is left out and the reward's own would be sent the texts, or is a file. A
            reward may be a stranger's, and does not decide that by itself.
        """
        from voirdire.rewards.scores import score_items

        return score_items(
            self,
            items,
            verdicts=verdicts,
            judge=judge,
            base_rewards=base_rewards,
            behavior=behavior,
            center=center,
            store=store,
            retry_failures=retry_failures,
            other_judge=other_judge,
            stopping=stopping,
        )

    def explain(self, scores: Scores) -> pl.DataFrame:
        """Explain what each feature adds to each reward.

        Parameters
        ----------
        scores : Scores
            What `score` gave.

        Returns
        -------
        polars.DataFrame
            `item`, `behavior`, `feature`, `value`, `weight`, `contribution`: one row per item and
            feature, in their order, items without a behavior of this reward left out. An item's
            contributions and its base reward add up to its reward; where scores are centred, the
            feature ``"(center)"`` is one of the rows. Unknown values are null.
        """
        from voirdire.rewards.scores import explain_scores

        return explain_scores(self, scores)

    def save(self, path: str | Path) -> None:
        """Write the reward to a JSON file, whole or not at all.

        Parameters
        ----------
        path : str or path
            Where to; a reward that is there is replaced, and nothing else is.

        Raises
        ------
        InputError
            If something else is there, or the file cannot be written.
        """
        target = Path(path)
        if target.exists() and not is_reward_file(target):
            msg = (
                f"`path` must be free or hold a reward, got {str(target)!r}, which holds something "
                "else. Name another file."
            )
            raise InputError(msg)
        write_json(target, make_reward_document(self))


def is_reward_file(path: Path) -> bool:
    """Tell by its first bytes whether a file is empty or a reward of any version."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return False
    return not head or (head.lstrip().startswith(b"{") and f'"{ANY_REWARD}'.encode() in head)


def make_reward_document(model: RewardModel) -> dict[str, Any]:
    """Make the plain values of a reward that its file holds."""
    rubric, content = model.rubric, _list_content(model)
    head = {"created": model.created, "versions": model.versions}
    written = {
        "name": rubric.name,
        "version": rubric.version,
        "content_hash": rubric.content_hash,
        "source": rubric.source,
        "text": rubric_to_yaml(rubric),
    }
    whole = {"schema": content.pop("schema"), "name": content.pop("name"), **head}
    document: dict[str, Any] = plain_json(
        whole | {"content_hash": model.content_hash, **content, "rubric": written}
    )
    return document


def _list_content(model: RewardModel) -> dict[str, Any]:
    return {
        "schema": REWARD_SCHEMA,
        "name": model.name,
        "orientation": model.orientation,
        "judge": vars(model.judge),
        "behaviors": {
            name: {
                "weights": {feature: float(weight) for feature, weight in row.weights.items()},
                "mean": float(row.mean),
                "standard_deviation": float(row.standard_deviation),
                "mean_ideal": float(row.mean_ideal),
                "figures": row.figures,
                **({"veto": row.vetoes} if row.vetoes else {}),
                **({"guard": vars(row.guard)} if row.guard else {}),
            }
            for name, row in model.behaviors.items()
        },
        "settings": model.settings,
        "data_hash": model.data_hash,
        "certificates": [row.as_dict() for row in model.certificates],
        **({"gate": vars(model.gate)} if model.gate else {}),
        **({"criteria": vars(model.criteria)} if model.criteria else {}),
    }
