"""Errors of the library in the words of the command line: options instead of arguments."""

from __future__ import annotations

import re

__all__ = ["in_options"]

_RENAMED = {
    "deadline_s": "deadline",
    "drain_s": "drain",
    "most_waiting": "queue",
    "token": "token-env",
    "n_examples": "examples",
    "n_orders": "orders",
    "n_samples": "samples",
    "timeout_s": "timeout",
    "n_annotators": "annotators",
    "n_attempts": "attempts",
    "n_bins": "bins",
    "n_categories": "categories",
    "n_folds": "folds",
    "n_items": "items",
    "n_resamples": "resamples",
    "n_simulations": "simulations",
    "orders": "order",
    "prevalences": "prevalence",
    "wanted_power": "power",
    "clusters": "cluster",
    "ignored": "ignore",
    "margins": "margin",
    "use_base": "base",
    "columns": "column",
    "raters": "rater",
    "labels": "labels",
}
_SAME = (
    "alignment",
    "api_key_env",
    "base",
    "base_url",
    "behavior",
    "bench",
    "by",
    "calibrator",
    "concurrency",
    "connections",
    "confidence_level",
    "epsilon",
    "epsilon_mode",
    "expert",
    "false_discovery_rate",
    "fixed",
    "format",
    "gold",
    "host",
    "human_noise",
    "humans",
    "judge",
    "judge_noise",
    "judged",
    "judges",
    "kind",
    "l2",
    "language",
    "layout",
    "loss",
    "margin",
    "max_body",
    "max_cost",
    "max_tokens",
    "method",
    "min_annotators",
    "min_items",
    "missing",
    "missing_reward",
    "mode",
    "model",
    "normalize",
    "order",
    "orientation",
    "output",
    "policy",
    "port",
    "price",
    "probability",
    "quality",
    "question",
    "queue",
    "reasoning_effort",
    "recipes",
    "record",
    "reference",
    "remembered",
    "requests_per_minute",
    "require_certified",
    "reward",
    "route",
    "rubric",
    "seed",
    "separator",
    "step_size",
    "store",
    "temperature",
    "threshold",
    "tokens_per_minute",
    "verdicts",
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
    message = message.replace("`source` must be a file", "what is read must be a file", 1)
    message = _RATERS.sub("--rater COLUMN", message)
    message = message.replace("`other_judge=True`", "`--other-judge`")
    message = _KEYWORD.sub(lambda found: f"{_OPTIONS[found[1]]} {found[3]!r}", message)
    return _ARGUMENT.sub(lambda found: f"`{_OPTIONS[found[1]]}`", message)
