"""The closed sets of words, one word per concept in code, docs, files and errors."""

from collections.abc import Set as AbstractSet
from typing import Literal, TypeAlias

__all__ = [
    "CANNOT_TELL",
    "FALSE_WORDS",
    "TRUE_WORDS",
    "AlignmentName",
    "EpsilonMode",
    "Label",
    "Language",
    "Method",
    "Normalization",
    "Outcome",
    "QuestionKind",
    "WeightScheme",
]

QuestionKind: TypeAlias = Literal["boolean", "choice", "multilabel", "scale", "text"]
"""What a question asks for; declared, never guessed."""

AlignmentName: TypeAlias = Literal[
    "accuracy", "neg_rmse", "similarity", "jaccard", "jaccard_macro", "jaccard_slots", "hamming"
]
"""The built-in scoring functions S(a, others) of the alternative annotator test."""

EpsilonMode: TypeAlias = Literal["additive", "multiplicative"]
Method: TypeAlias = Literal["t", "exact"]
WeightScheme: TypeAlias = Literal["imbalance"]
Normalization: TypeAlias = Literal["zscore", "rank"]
Outcome: TypeAlias = Literal["passed", "failed", "no_evidence"]

Label: TypeAlias = str | bool | int | float | AbstractSet[str] | list[str] | tuple[str, ...] | None
"""One answer: a word, a truth value, a number, or a set of words; None is missing."""

TRUE_WORDS = ("true", "yes", "1", "是")
"""What a boolean question takes as true in text, in any case."""

FALSE_WORDS = ("false", "no", "0", "否")
"""What a boolean question takes as false in text, in any case."""

CANNOT_TELL = ("can't tell", "cant tell", "can not tell", "cannot tell", "无法判断")
"""Answers that mean "no answer", in any case, unless they are declared as labels."""

Language: TypeAlias = Literal["en", "zh"]
"""English or Simplified Chinese."""
