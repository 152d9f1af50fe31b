"""The figures of reasons and cautions, checked: JSON may hold anything there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire.reporting.page_frame.speech import (
    Count,
    Decimal,
    Label,
    Listing,
    Margin,
    Name,
    P,
    Percent,
    Verbatim,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NOTE_FIGURES", "NotOfThisVersionError", "variant"]

_MOST_NAMED = 5
_MOST = 10**15


class NotOfThisVersionError(Exception):
    """A figure is missing, or is not what this version writes: the sentence has to do."""


def variant(code: str, figures: dict[str, Any]) -> str:
    """Give the end of a phrase's key where its figures ask for other words."""
    if code == "few_annotators" and figures.get("n_annotators") == 0:
        return ".none"
    if code in ("missed", "not_shown") and figures.get("constant_passes") is True:
        return ".constant"
    if code == "unpassable" and figures.get("n_needed") is None:
        return ".unknown"
    return ".clusters" if code == "unstable" and figures.get("clustered") is True else ""


def _count(figures: dict[str, Any], key: str) -> int:
    value = figures.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST:
        raise NotOfThisVersionError(key)
    return value


def _number(figures: dict[str, Any], key: str) -> float | None:
    """Give a figure; None where it is undefined."""
    value = figures.get(key, "")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _MOST:
        raise NotOfThisVersionError(key)
    return float(value)


def _rate(figures: dict[str, Any], key: str) -> float:
    value = _number(figures, key)
    if value is None or not 0 <= value <= 1:
        raise NotOfThisVersionError(key)
    return value


def _text(figures: dict[str, Any], key: str) -> str:
    value = figures.get(key)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise NotOfThisVersionError(key)
    if not isinstance(value, str) and not abs(value) <= _MOST:
        raise NotOfThisVersionError(key)
    return value if isinstance(value, str) else str(value)


def _names(figures: dict[str, Any]) -> Listing:
    """List names of which the JSON holds the first few, with how many there are."""
    known = figures.get("annotators")
    if not isinstance(known, list) or not all(isinstance(name, str) for name in known):
        raise NotOfThisVersionError("annotators")
    names = tuple(Name(name, width=40) for name in known[:_MOST_NAMED])
    n_all = _count(figures, "n") if "n" in figures else len(known)
    return Listing(names, n_hidden=max(n_all - len(names), 0))


def _beside_constant(figures: dict[str, Any]) -> dict[str, Any]:
    return {
        "label": Label(_text(figures, "constant")),
        "mine": Decimal(_rate(figures, "advantage_probability")),
        "theirs": Decimal(_rate(figures, "constant_advantage")),
        "p": P(_rate(figures, "p_value")),
    }


def _shown(figures: dict[str, Any]) -> dict[str, Any]:
    found = {
        "epsilon": Margin(_rate(figures, "epsilon")),
        "n": _count(figures, "n_shown"),
        "annotators": Count(_count(figures, "n_annotators"), "annotators"),
    }
    constant = figures.get("constant")
    return found | ({"label": Label(constant)} if isinstance(constant, str) else {})


NOTE_FIGURES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "constant_passes": lambda f: {"label": Label(_text(f, "label"))},
    "correction": lambda f: {
        "omega": Decimal(_number(f, "winning_rate")),
        "omega_bh": Decimal(_number(f, "winning_rate_bh")),
    },
    "failures": lambda f: {
        "failures": Count(_count(f, "n_failures"), "failed_calls"),
        "omega": Decimal(_number(f, "winning_rate")),
    },
    "few_annotators": lambda f: {"annotators": Count(_count(f, "n_annotators"), "annotators")},
    "few_clusters": lambda f: {"clusters": Count(_count(f, "n_clusters"), "clusters")},
    "few_items": lambda f: {
        "annotators": _names(f),
        "fewest": Count(_count(f, "fewest"), "items"),
        "few": _count(f, "few"),
    },
    "like_constant": lambda f: {
        "omega": Decimal(_rate(f, "winning_rate")),
        **_beside_constant(f),
    },
    "many_ties": lambda f: {"annotators": _names(f), "share": Percent(_rate(f, "share"))},
    "missed": lambda f: {
        **_shown(f),
        "missed": _count(f, "n_annotators") - _count(f, "n_within"),
    },
    "near_margin": lambda f: {
        "smallest": Margin(_rate(f, "smallest")),
        "epsilon": Margin(_rate(f, "epsilon")),
    },
    "no_p_values": lambda _: {},
    "not_judged": lambda f: {
        "unjudged": Count(_count(f, "n_unjudged")),
        "items": Count(_count(f, "n_items"), "items"),
    },
    "not_shown": lambda f: {**_shown(f), "within": _count(f, "n_within")},
    "one_sided": lambda f: {key: _count(f, key) for key in ("one", "other", "needed")},
    "random_passes": lambda _: {},
    "shown": lambda f: _shown(f) | _beside_constant(f),
    "skewed_labels": lambda f: {
        "share": Percent(_rate(f, "share")),
        "label": Label(_text(f, "label")),
    },
    "similarity": lambda _: {},
    "some_margins": lambda _: {},
    "strange_annotators": lambda f: {"annotators": _names(f)},
    "strange_labels": lambda f: {
        "mine": Label(_text(f, "label")),
        "theirs": Label(_text(f, "human_label")),
    },
    "undeclared_labels": lambda f: {"labels": Count(_count(f, "n_labels"), "labels")},
    "undefined_agreement": lambda f: {"reason": Verbatim(_text(f, "reason"))},
    "unpassable": lambda f: {
        "items": Count(_count(f, "n_items"), "items"),
        "epsilon": Margin(_rate(f, "epsilon")),
        "needed": f.get("n_needed") and Count(_count(f, "n_needed")),
    },
    "unstable": lambda f: {"stability": Percent(_rate(f, "stability"))},
    "untestable": lambda f: {"items": Count(_count(f, "min_items"), "items")},
    "untested_annotators": lambda f: {
        "annotators": _names(f),
        "items": Count(_count(f, "min_items"), "items"),
    },
    "weak_agreement": lambda f: {"low": Decimal(_number(f, "low"))},
    "weak_annotators": lambda f: {"alpha": Decimal(_number(f, "alpha"))},
}
"""What a phrase is said with, by code."""
