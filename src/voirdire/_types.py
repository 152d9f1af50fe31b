"""The closed sets of words, one word per concept in code, docs, files and errors."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Annotated, Literal, TypeAlias

QuestionKind: TypeAlias = Literal["boolean", "choice", "multilabel", "scale", "text", "pairwise"]
"""What a question asks for; declared, never guessed."""

AlignmentName: TypeAlias = Literal[
    "accuracy", "neg_rmse", "similarity", "jaccard", "jaccard_macro", "jaccard_slots", "hamming"
]
"""The built-in scoring functions S(a, others) of the alternative annotator test."""

Share: TypeAlias = Annotated[float, "share"]
"""A figure in [0, 1], or nan; who reads it back from a file asks for that."""

Margin: TypeAlias = Annotated[float, "margin"]
"""ε, in [0, 1)."""

EpsilonMode: TypeAlias = Literal["additive", "multiplicative"]
WeightScheme: TypeAlias = Literal["imbalance"]
Outcome: TypeAlias = Literal["passed", "passed_as_random_person", "failed", "no_evidence"]
Finding: TypeAlias = Literal[
    "passed", "passed_as_random_person", "not_shown", "worse", "no_evidence"
]
"""An outcome as it is said: what failed was not shown, or is worse by its estimate."""
Family: TypeAlias = Literal["annotators", "judges"]
"""What one false discovery rate covers: the annotators of a judge, or of all judges."""

Label: TypeAlias = str | bool | int | float | AbstractSet[str] | list[str] | tuple[str, ...] | None
"""One answer: a word, a truth value, a number, or a set of words; None is missing."""

TRUE_WORDS = ("true", "yes", "1", "是", "y", "t")
"""What a boolean question takes as true in text, in any case."""

FALSE_WORDS = ("false", "no", "0", "否", "n", "f")
"""What a boolean question takes as false in text, in any case."""

CANNOT_TELL = ("can't tell", "cant tell", "can not tell", "cannot tell", "无法判断")
"""Answers that mean "no answer", in any case, unless they are declared as labels."""

NO_ANSWERS = ("NA", "<NA>", "#N/A", "NaN", "nan", "NAN", "null", "NULL")
"""What programs write where there is no label; no label, unless it is a declared one."""

NO_TEXTS = (*NO_ANSWERS, "N/A", "n/a")
"""What stands where there is no prompt or response."""

RateMethod: TypeAlias = Literal["auto", "human", "efficient", "ppi", "rogan_gladen"]
"""How a rate is estimated."""

LabelledItems: TypeAlias = Literal["random", "verdict", "class"]
"""How the labelled items were drawn."""

Language: TypeAlias = Literal["en", "zh"]
"""English or Simplified Chinese."""

RubricKind: TypeAlias = Literal["boolean", "choice", "multilabel", "scale", "text", "pairwise"]
"""What a question of a rubric asks for: a `QuestionKind`, or which of two responses is better."""

RuleKind: TypeAlias = Literal[
    "contains",
    "contains_any",
    "regex",
    "characters",
    "words",
    "json",
    "exact",
    "number",
    "function",
]
"""What a rule in code looks at."""

DemandWord: TypeAlias = Literal[
    "required", "desired", "allowed", "undesired", "unacceptable", "illogical", "disallowed"
]
"""What a behavior says of a proposition."""

ClassRule: TypeAlias = Literal["exact", "product"]
"""How completion classes get their probabilities."""

ProbabilitySource: TypeAlias = Literal[
    "logprob", "stated", "vote", "decision", "classifier", "rule", "derived", "cascade", "jury"
]
"""Where a probability comes from; `rule` is code: 0 or 1; `derived` ones are computed from those of
propositions. A judge whose source is `cascade` has one of two other judges answer each item, and
verdicts say which."""

Judged: TypeAlias = Literal["final_answer", "with_reasoning", "whole_turn"]
"""What of a response is judged: its last message without thoughts; that message whole; or
everything after the prompt, tool calls and their results included."""

Mode: TypeAlias = Literal["joint", "single"]
"""Whether a model is asked all questions about an item in one call, or each in its own."""

ModelSource: TypeAlias = Literal["logprob", "stated", "vote", "decision"]
"""Where a probability that a model gives comes from: the log-probabilities of the answer's tokens,
the number that it wrote, the share of several samples, or a decision model's own answer."""

Api: TypeAlias = Literal["chat", "systemone", "decisions"]
"""What a server speaks: chat completions, or one of the interfaces of decision models."""

ReplyForm: TypeAlias = Literal["json_schema", "json_object", "text"]
"""How a model is held to the form of its reply, from the strictest to none."""

Orientation: TypeAlias = Literal["plain", "demanded"]
"""Which propositions enter a reward by the probability that they are false: none, or all whose
demanded state is false."""

Threshold: TypeAlias = float | Mapping[str, float]
"""From which probability on a proposition is true: one number, or one by proposition."""

VerdictLayout: TypeAlias = Literal["long", "wide"]
"""Verdicts with one row per item and question, or with one row per item."""
