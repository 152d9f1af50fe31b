"""The words on the figures, in English and in Chinese: those of the page around them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from voirdire._types import Language
from voirdire._validation import check_choice
from voirdire.reporting.plots.names import label

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Words", "count_judges", "name_coefficient", "name_control", "quote", "words_in"]

_WORDS: dict[str, tuple[str, str]] = {
    # axes
    "epsilon": ("margin ε", "允许差距 ε"),
    "epsilon_multiplicative": (
        "margin ε (share of the annotator’s advantage)",
        "允许差距 ε（按标注员优势的比例计）",
    ),
    "winning_rate": ("winning rate ω", "胜率 ω"),
    "advantage": ("advantage probability ρ", "优势概率 ρ"),
    "judge_advantage": ("judge’s advantage ρᶠ", "评判员的优势 ρᶠ"),
    "human_advantage": ("annotator’s advantage ρʰ", "标注员的优势 ρʰ"),
    "items": ("annotated items", "标注条目数"),
    "power": ("power: chance that the judge passes", "功效：评判员通过的概率"),
    "slice_difference": (
        "judge’s lead over the annotators, here minus elsewhere",
        "对标注员的领先：此处减去其余条目",
    ),
    "both": ("both", "双方"),
    "judge_only": ("only the judge", "只有评判员"),
    "human_only": ("only the annotator", "只有标注员"),
    "share_of_row": ("share of the row", "占该行的比例"),
    "table_sides": ("rows: annotators, columns: judge", "行：标注员，列：评判员"),
    "stated": ("stated probability", "评判员给出的概率"),
    "came_true": ("share that was true", "实际为真的比例"),
    "largest_shift": ("largest shift of an answer", "回答的最大偏移"),
    # marks
    "bias_found": ("bias found", "发现偏差"),
    "bias_not_found": ("no bias found", "未发现偏差"),
    "noise_floor": ("mean difference between two askings", "两次询问之间的平均差异"),
    "passed": ("passed", "通过"),
    "failed": ("failed", "未通过"),
    "no_evidence": ("no evidence", "证据不足"),
    "control": ("control", "对照"),
    "threshold": ("passes from .5 on", "达到 0.5 即通过"),
    "human_mark": ("ρ of people", "标注员的 ρ"),
    "one_tenth": ("items of about the same probability", "概率相近的条目"),
    "comes_true": ("what is stated comes true", "所述概率与实际一致"),
    "interval": ("{level:.0%} interval", "{level:.0%} 区间"),
    "wins": ("judge wins this annotator", "不逊于该标注员，且超出偶然"),
    "wins_not": ("does not", "未能证明"),
    "region_1": ("judge at least as good", "评判员至少与人一样好"),
    "region_2": ("worse, but by less than ε", "差一些，但差距小于 ε"),
    "ceiling": ("annotators among themselves: the human ceiling", "标注员之间：人类上限"),
    "human_row": ("annotators", "标注员之间"),
    "simulation_error": ("95% interval of the simulation", "模拟的 95% 区间"),
    "worse": ("falls further behind here, beyond chance", "在此更落后于标注员，且超出偶然"),
    "not_worse": ("not beyond chance", "未超出偶然"),
    "undefined": ("undefined", "无定义"),
    "wanted_power": ("wanted: {power:.0%}", "目标：{power:.0%}"),
    "others": ("{n} other judges", "其余 {n} 个评判员"),
    # labels and controls
    "quoted": ("“{label}”", "“{label}”"),
    "constant": ("always {label}", "总是 {label}"),
    "random": ("at random", "随机作答"),
    "majority_vote": ("majority vote", "多数票"),
    # power
    "power_curve": (
        "{n_annotators} annotators, ε = {epsilon}",
        "{n_annotators} 名标注员，ε = {epsilon}",
    ),
    # headings
    "of_question": ("{question}: {alignment}", "{question}：{alignment}"),
    "at_epsilon": ("ε = {epsilon}", "ε = {epsilon}"),
    "best_of": ("{n} of {total} judges, by ρ", "{total} 个评判员中 ρ 最高的 {n} 个"),
    "worst_of": ("worst {n} of {total} slices", "{total} 个切片中最差的 {n} 个"),
    "agreement_title": ("{question}: {coefficient}", "{question}：{coefficient}"),
    "other_labels": ("{n} others", "其他 {n} 个"),
    "reliability_title": ("Stated probabilities, and what came true", "所述概率与实际比例"),
    "farthest_of": ("the {n} farthest off of {total}", "{total} 个中偏差最大的 {n} 个"),
    "probes_title": ("What moves {judge}", "什么会影响 {judge}"),
    "power_title": ("Power", "功效"),
    "slices_title": ("{question}: slices", "{question}：切片"),
    "confusion_title": (
        "{question}: labels given",
        "{question}：标签对照",
    ),
    # coefficients
    "cohen_kappa": ("Cohen’s κ", "Cohen κ"),
    "weighted": ("{coefficient}, {weights}", "{coefficient}，{weights}"),
    "linear": ("linear weights", "线性加权"),
    "quadratic": ("quadratic weights", "二次加权"),
    "jaccard": ("Jaccard weights", "Jaccard 加权"),
    "raw_agreement": ("raw agreement", "原始一致率"),
    "gwet_ac": ("Gwet’s AC", "Gwet AC"),
    "majority_agreement": (
        "with the others’ majority (one left out)",
        "与其余人的多数一致（留出一名）",
    ),
    "majority_kappa": (
        "κ with the others’ majority (one left out)",
        "与其余人多数的 κ（留出一名）",
    ),
    "panel_majority_kappa": ("κ with the majority of all", "与全体多数的 κ"),
    "one_judge": ("one judge", "1 个评判员"),
    "n_judges": ("{n} judges", "{n} 个评判员"),
    # what a figure shows, for readers who do not see it
    "alt_winning_rate": (
        "Winning rate ω against ε for {judges}.",
        "{judges}的胜率 ω 随 ε 的变化。",
    ),
    "alt_advantage": (
        "Advantage probability ρ of {judges}, the highest first.",
        "{judges}的优势概率 ρ，从高到低。",
    ),
    "alt_scatter": (
        "The judge’s advantage against each annotator’s own, for {judges}.",
        "{judges}的优势与每位标注员自身优势的对比。",
    ),
    "alt_agreement": (
        "{coefficient} between every two of {n} raters.",
        "{n} 名评分者两两之间的 {coefficient}。",
    ),
    "alt_ceiling": (
        "{coefficient} of {judges} beside that of the annotators.",
        "{judges}与标注员的 {coefficient} 对比。",
    ),
    "alt_controls": (
        "Winning rate ω of {judges} and of the controls.",
        "{judges}及对照的胜率 ω。",
    ),
    "alt_slices": (
        "Where {judges} did worse than elsewhere.",
        "{judges}在哪些切片上更差。",
    ),
    "alt_confusion": (
        "The labels of {judges} against the annotators’.",
        "{judges}与标注员标签的对照表。",
    ),
    "alt_reliability": (
        "The share that was true against the stated probability, in {n} panels.",
        "实际为真的比例随所述概率的变化，共 {n} 幅。",
    ),
    "alt_probes": (
        "The largest shift under each of {n} probes; {n_found} found a bias.",
        "{n} 个探测各自的最大偏移；其中 {n_found} 个发现偏差。",
    ),
    "alt_power": (
        "Power against the number of items.",
        "功效随条目数的变化。",
    ),
}


class Words:
    """The words of one language; call it with a key and the figures of the sentence."""

    def __init__(self, language: Language) -> None:
        self._column = 0 if check_choice("language", language, Language) == "en" else 1
        self._has_zero = self._column == 1

    def __call__(self, key: str, **figures: Any) -> str:
        """Return the words of `key`; a key without words stands for itself."""
        if key not in _WORDS:
            return key
        return _WORDS[key][self._column].format(**figures)

    def two_digits(self, value: float) -> str:
        """Write a figure with two decimals, and a dash for what is undefined."""
        if math.isnan(value):
            return "–"
        text = f"{value:.2f}"
        return self._signed(text if float(text) else text.lstrip("-"))

    def digits(self, value: float) -> str:
        """Write a round number, such as ε or a tick, with the digits it has."""
        return self._signed(f"{round(value, 9):,.10g}")

    def _signed(self, text: str) -> str:
        """Put a true minus sign, and leave out the leading zero where the page does: in English."""
        sign, figure = ("−", text[1:]) if text.startswith("-") else ("", text)
        if figure.startswith("0.") and not self._has_zero:
            figure = figure[1:]
        return sign + figure


def count_judges(n: int, say: Words) -> str:
    """Say how many judges there are."""
    return say("one_judge" if n == 1 else "n_judges", n=n)


def name_coefficient(name: str, weights: str | None, say: Words) -> str:
    """Name a coefficient of agreement with its weights."""
    if weights is None:
        return say(name)
    return say("weighted", coefficient=say(name), weights=say(weights))


def name_control(control: Mapping[str, Any], say: Words, *, width: int) -> str:
    """Name a control, with the label of a constant one at `width` columns."""
    shown = say("quoted", label=label(control["label"], width=width))
    return say(control["control"], label=shown)


def quote(labels: Iterable[str], say: Words) -> list[str]:
    """Quote labels as the page does, so that a label is never taken for a word of ours."""
    return [say("quoted", label=text) for text in labels]


def words_in(language: Language) -> Words:
    """Return the words of a language, `en` or `zh`.

    Raises
    ------
    InputError
        If it is another.
    """
    return Words(language)
