"""The words on the figures of a training run, in English and in Chinese."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire.reporting.plots.reward_words import RewardWords

if TYPE_CHECKING:
    from voirdire._types import Language

__all__ = ["TrainingWords", "training_words_in"]

_WORDS: dict[str, tuple[str, str]] = {
    "training_step": ("step", "步"),
    "training_run": ("this run", "本次训练"),
    "training_reference": ("reference run", "参照训练"),
    "training_alarm": ("an alarm begins", "警报开始"),
    "training_points": ("each point: the mean of {n} steps", "每个点为 {n} 步的均值"),
    # reward
    "training_reward_title": ("{name}: reward in training", "{name}：训练中的奖励"),
    "training_reward_axis": ("mean reward", "平均奖励"),
    "training_reward_line": ("reward", "奖励"),
    "training_rule_line": ("rule part", "规则部分"),
    "training_base_line": ("base part", "基础部分"),
    "training_spread": ("± standard deviation of a step", "± 每步的标准差"),
    "training_nothing": ("nothing to show: undefined at every step", "无可显示：每一步均无定义"),
    "alt_training_reward": (
        "Mean reward of each step of the training.",
        "训练各步的平均奖励。",
    ),
    # propositions
    "training_propositions_title": (
        "{name}: how often propositions are true",
        "{name}：各命题成立的比例",
    ),
    "training_of": ("{title}, {n} of {total}", "{title}，{total} 个中的 {n} 个"),
    "training_rate_axis": ("mean probability", "平均概率"),
    "training_from_to": ("{start} → {end}", "{start} → {end}"),
    "alt_training_propositions": (
        "Mean probability of each proposition over the steps of the training.",
        "各命题的平均概率随训练步数的变化。",
    ),
    # classes
    "training_classes_title": ("{name}: classes of the responses", "{name}：回复的类别"),
    "training_class_axis": ("share", "占比"),
    "training_other_classes": ("{n} other classes", "其余 {n} 类"),
    "training_no_classes": ("no response of this behavior was judged", "没有该行为的回复被评判"),
    "alt_training_classes": (
        "Shares of the completion classes of each behavior over the steps of the training.",
        "各行为的完成类别占比随训练步数的变化。",
    ),
    # length
    "training_length_title": ("{name}: length beside reward", "{name}：长度与奖励对照"),
    "training_length_axis_tokens": ("mean length, tokens", "平均长度（词元）"),
    "training_length_axis_characters": ("mean length, characters", "平均长度（字符）"),
    "alt_training_length": (
        "Mean length of the responses under the mean reward, over the steps of the training.",
        "回复的平均长度与平均奖励随训练步数的变化，上下对照。",
    ),
    # missing
    "training_missing_title": ("{name}: missing rewards", "{name}：缺失的奖励"),
    "training_missing_axis": ("share of responses without a reward", "没有奖励的回复占比"),
    "alt_training_missing": (
        "Share of the responses without a reward over the steps of the training.",
        "没有奖励的回复占比随训练步数的变化。",
    ),
}


class TrainingWords(RewardWords):
    """The words of one language: those of all figures, and those of a training run's."""

    def __call__(self, key: str, **figures: Any) -> str:
        """Return the words of `key`; a key without words stands for itself."""
        if key not in _WORDS:
            return super().__call__(key, **figures)
        return _WORDS[key][self._column].format(**figures)


def training_words_in(language: Language) -> TrainingWords:
    """Return the words of a language, `en` or `zh`.

    Raises
    ------
    InputError
        If it is another.
    """
    return TrainingWords(language)
