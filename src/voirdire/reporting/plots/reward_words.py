"""The words on the figures of a reward, in English and in Chinese: those of the page around."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from voirdire.reporting.plots.words import Words

if TYPE_CHECKING:
    from voirdire._types import Language

__all__ = ["RewardWords", "reward_words_in"]

_HUNDREDTH = 0.01

_WORDS: dict[str, tuple[str, str]] = {
    "base": ("base reward", "基础奖励"),
    "total": ("base + rules", "基础 + 规则"),
    "rules": ("rules alone", "仅规则"),
    "all_behaviors": ("all behaviors", "全部行为"),
    # errors
    "errors_title": ("{name}: comparisons ranked the wrong way", "{name}：排错的比较"),
    "errors_axis": ("share ranked the wrong way", "排错的比例"),
    "errors_chance": ("ranking at random", "随机排序"),
    "alt_errors": (
        "Share of comparisons ranked the wrong way, by behavior and reward.",
        "各行为、各种奖励下排错的比较所占的比例。",
    ),
    # histograms
    "histograms_title": ("{behavior}: rewards by label", "{behavior}：各标签的奖励"),
    "histograms_axis": (
        "reward, less the mean of “{best}” for the same prompt",
        "奖励，减去同一提示下“{best}”的均值",
    ),
    "below_best": ("worse than the mean of “{best}”", "低于“{best}”的均值"),
    "above_best": ("better than it, and should not be", "高于它，而本不该如此"),
    "is_best": ("“{best}” itself", "“{best}”自身"),
    "label_mean": ("mean", "均值"),
    "alt_histograms": (
        "Centred rewards of {behavior} by label, one column for each reward.",
        "{behavior} 各标签的居中奖励，每种奖励一列。",
    ),
    # drives
    "drives_title": ("{behavior}: what drives the reward", "{behavior}：奖励由什么驱动"),
    "drives_weight": ("weight", "权重"),
    "drives_share": ("share of the spread", "在离散度中的占比"),
    "drives_class": ("class: {name}", "类别：{name}"),
    "certified": ("judge certified", "评判员有证书"),
    "uncertified": ("not certified", "没有证书"),
    "contradictory": ("pays against the demand", "与要求相悖"),
    "dead": ("does nothing", "不起作用"),
    "drives_first": ("{n} of {total} features", "{total} 个特征中的 {n} 个"),
    "alt_drives": (
        "Weights of the features of {behavior} and their share of the spread within prompts.",
        "{behavior} 各特征的权重，及其在提示内离散度中的占比。",
    ),
    # scales
    "scales_title": ("{name}: rule rewards by behavior", "{name}：各行为的规则奖励"),
    "scales_axis": ("rule reward", "规则奖励"),
    "scales_range": ("lowest to highest", "最低至最高"),
    "scales_spread": ("mean ± standard deviation", "均值 ± 标准差"),
    "scales_ideal": ("mean of the best label", "最好标签的均值"),
    "scales_worst": ("mean of the worst label", "最差标签的均值"),
    "alt_scales": (
        "Range, mean and standard deviation of the rule rewards of each behavior.",
        "各行为规则奖励的范围、均值与标准差。",
    ),
}


class RewardWords(Words):
    """The words of one language: those of all figures, and those of a reward's."""

    def __call__(self, key: str, **figures: Any) -> str:
        """Return the words of `key`; a key without words stands for itself."""
        if key not in _WORDS:
            return super().__call__(key, **figures)
        return _WORDS[key][self._column].format(**figures)

    def percent(self, value: float) -> str:
        """Write a share in per cent: 0% is none, and a dash is undefined."""
        if math.isnan(value):
            return "–"
        return "<1%" if 0 < value < _HUNDREDTH else f"{value:.0%}"


def reward_words_in(language: Language) -> RewardWords:
    """Return the words of a language, `en` or `zh`.

    Raises
    ------
    InputError
        If it is another.
    """
    return RewardWords(language)
