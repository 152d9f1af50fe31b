"""The words on the figures, in English and in Chinese."""

from __future__ import annotations

from typing import Any

from voirdire._types import Language
from voirdire._validation import check_choice

__all__ = ["Words", "count_judges", "name_coefficient", "words_in"]


_WORDS: dict[str, tuple[str, str]] = {
    # axes
    "epsilon": ("margin ε", "允许的差距 ε"),
    "epsilon_multiplicative": ("margin ε (share of the annotator's advantage)", "ε（按比例）"),
    "winning_rate": ("winning rate ω", "胜率 ω"),
    "advantage": ("advantage probability ρ", "优势概率 ρ"),
    "judge_advantage": ("judge's advantage ρᶠ", "评判员的优势 ρᶠ"),
    "human_advantage": ("annotator's advantage ρʰ", "标注员的优势 ρʰ"),
    "items": ("annotated items", "标注条目数"),
    "power": ("power: chance that the judge passes", "功效：评判员通过的概率"),
    "slice_difference": (
        "judge's lead over the annotators, here minus elsewhere",
        "评判员对标注员的领先：此处减去别处",
    ),
    "both": ("both", "双方"),
    "judge_only": ("judge only", "仅评判员"),
    "human_only": ("annotator only", "仅标注员"),
    "share_of_row": ("share of the row", "占该行的比例"),
    "table_sides": ("rows: annotators, columns: judge", "行：标注员，列：评判员"),
    # marks
    "passed": ("passed", "通过"),
    "failed": ("failed", "未通过"),
    "no_evidence": ("no evidence", "证据不足"),
    "control": ("control", "对照"),
    "threshold": ("passes at .5", "达到 .5 即通过"),
    "human_mark": ("annotators' own advantage", "标注员自身的优势"),
    "interval": ("{level:.0%} interval", "{level:.0%} 区间"),
    "wins": ("judge wins this annotator", "胜过该标注员"),
    "wins_not": ("does not", "未胜过"),
    "region_1": ("judge at least as good", "评判员不逊色"),
    "region_2": ("worse by less than ε", "差距小于 ε"),
    "ceiling": ("annotators among themselves", "标注员之间（人类上限）"),
    "human_row": ("annotators", "标注员之间"),
    "simulation_error": ("95% interval of the simulation", "模拟的 95% 区间"),
    "worse": ("judge is worse here", "评判员在此更差"),
    "not_worse": ("no evidence of that", "无此证据"),
    "undefined": ("undefined", "无定义"),
    "wanted_power": ("wanted: {power:.0%}", "目标：{power:.0%}"),
    "others": ("{n} other judges", "其余 {n} 个评判员"),
    # controls
    "constant": ("always {label}", "总是 {label}"),
    "random": ("random labels", "随机标签"),
    "majority_vote": ("majority vote", "多数票"),
    # power
    "power_curve": (
        "{n_annotators} annotators, ε {epsilon}",
        "{n_annotators} 名标注员，ε {epsilon}",
    ),
    # headings
    "of_question": ("{question}: {alignment}", "{question}：{alignment}"),
    "at_epsilon": ("ε = {epsilon}", "ε = {epsilon}"),
    "best_of": ("best {n} of {total} judges", "{total} 个评判员中最好的 {n} 个"),
    "worst_of": ("worst {n} of {total} slices", "{total} 个切片中最差的 {n} 个"),
    "agreement_title": ("{question}: {coefficient}", "{question}：{coefficient}"),
    "other_labels": ("{n} others", "其他 {n} 个"),
    "power_title": ("Power", "功效"),
    "slices_title": ("{question}: slices", "{question}：切片"),
    "confusion_title": (
        "{question}: labels given",
        "{question}：标签对照",
    ),
    # coefficients
    "cohen_kappa": ("Cohen's κ", "Cohen κ"),
    "weighted": ("{coefficient}, {weights} weights", "{coefficient}，{weights}权重"),
    "linear": ("linear", "线性"),
    "quadratic": ("quadratic", "二次"),
    "jaccard": ("Jaccard", "Jaccard "),
    "raw_agreement": ("raw agreement", "原始一致率"),
    "gwet_ac": ("Gwet's AC", "Gwet AC"),
    "majority_agreement": ("agreement with the majority", "与多数的一致率"),
    "majority_kappa": ("κ with the majority", "与多数的 κ"),
    "one_judge": ("one judge", "1 个评判员"),
    "n_judges": ("{n} judges", "{n} 个评判员"),
    # what a figure shows, for readers who do not see it
    "alt_winning_rate": (
        "Winning rate ω against ε for {judges}.",
        "{judges}的胜率 ω 随 ε 的变化。",
    ),
    "alt_advantage": (
        "Advantage probability ρ of {judges}, the best first.",
        "{judges}的优势概率 ρ,从高到低。",
    ),
    "alt_scatter": (
        "The judge's advantage against each annotator's own, for {judges}.",
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
        "The labels of {judges} against the annotators'.",
        "{judges}与标注员标签的对照表。",
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

    def __call__(self, key: str, **figures: Any) -> str:
        """Return the words of `key`; a key without words stands for itself."""
        if key not in _WORDS:
            return key
        return _WORDS[key][self._column].format(**figures)


def count_judges(n: int, say: Words) -> str:
    """Say how many judges there are."""
    return say("one_judge" if n == 1 else "n_judges", n=n)


def name_coefficient(name: str, weights: str | None, say: Words) -> str:
    """Name a coefficient of agreement with its weights."""
    if weights is None:
        return say(name)
    return say("weighted", coefficient=say(name), weights=say(weights))


def words_in(language: Language) -> Words:
    """Return the words of a language, `en` or `zh`.

    Raises
    ------
    InputError
        If it is another.
    """
    return Words(language)
