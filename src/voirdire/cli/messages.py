"""Errors of the library in the words of the command line: options instead of arguments."""

from __future__ import annotations

import re

__all__ = ["in_options"]

_RENAMED = {
    "n_examples": "examples",
    "n_orders": "orders",
    "n_samples": "samples",
    "timeout_s": "timeout",
    "n_annotators": "annotators",
    "n_categories": "categories",
    "n_folds": "folds",
    "n_items": "items",
    "n_resamples": "resamples",
    "n_simulations": "simulations",
    "prevalences": "prevalence",
    "wanted_power": "power",
    "clusters": "cluster",
    "columns": "column",
    "raters": "rater",
    "labels": "labels",
}
_SAME = (
    "alignment",
    "api_key_env",
    "base_url",
    "behavior",
    "calibrator",
    "concurrency",
    "confidence_level",
    "epsilon",
    "epsilon_mode",
    "expert",
    "false_discovery_rate",
    "format",
    "gold",
    "human_noise",
    "humans",
    "judge",
    "judge_noise",
    "judged",
    "judges",
    "kind",
    "language",
    "layout",
    "max_cost",
    "max_tokens",
    "method",
    "min_annotators",
    "min_items",
    "missing",
    "mode",
    "normalize",
    "output",
    "probability",
    "quality",
    "question",
    "reasoning_effort",
    "requests_per_minute",
    "route",
    "rubric",
    "seed",
    "separator",
    "store",
    "temperature",
    "threshold",
    "tokens_per_minute",
    "weights",
    "workers",
)
_OPTIONS = {name: f"--{name.replace('_', '-')}" for name in _SAME} | {
    ours: f"--{typed}" for ours, typed in _RENAMED.items()
}
_NAMES = "|".join(_OPTIONS)
_ARGUMENT = re.compile(rf"(?<!column )`({_NAMES})`")
_COLUMNS = re.compile(r"""columns=\{(['"])(\w+)\1: [^}]*\}""")
_RATERS = re.compile(r"raters=\[[^\]]*\]")
_KEYWORD = re.compile(rf"""\b({_NAMES})=(['"])([^'"]*)\2""")


def in_options(message: str) -> str:
    """Rewrite what a message says about arguments."""
    message = _COLUMNS.sub(r"--column \2=YOURS", message)
    message = message.replace("columns={...}", "--column OURS=YOURS")
    message = _RATERS.sub("--rater COLUMN", message)
    message = _KEYWORD.sub(lambda found: f"{_OPTIONS[found[1]]} {found[3]!r}", message)
    return _ARGUMENT.sub(lambda found: f"`{_OPTIONS[found[1]]}`", message)
