"""Make the page of a reward file: its weights, demands and certificates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire.reporting.pages.frame import (
    page_environment,
    page_head,
    page_words,
    settings_rows,
    style_sheet,
)
from voirdire.reporting.pages.reward_sections import say_demand
from voirdire.reporting.pages.speech import Name, Speaker, Verbatim, say
from voirdire.rewards.against_demands import find_paid_against_demands
from voirdire.rewards.certification import certified, list_paying_propositions
from voirdire.rubrics.rubric import write_demand

if TYPE_CHECKING:
    from collections.abc import Iterator

    from voirdire._types import Language
    from voirdire.rewards.certification import CertificateStatus
    from voirdire.rewards.model import RewardModel

__all__ = ["reward_file_page"]

_MOST_BEHAVIORS = 50
_MOST_FEATURES = 300


def reward_file_page(
    model: RewardModel, *, language: Language = "en", title: str | None = None
) -> str:
    """Write a reward as one HTML page: its rubric, judge, weights, demands and certificates."""
    speaker = Speaker(language, "reward")
    statuses = certified(model)
    paying = list_paying_propositions(model)
    against = {(row.behavior, row.proposition) for row in find_paid_against_demands(model)}
    known = {
        "rubric": f"{model.rubric.name} {model.rubric.version}",
        "rubric_hash": model.rubric.content_hash,
        "judge": model.judge.name,
        "fingerprint": model.judge.fingerprint,
        "orientation": model.orientation,
        "created": model.created,
        "data_hash": model.data_hash,
        "content_hash": model.content_hash,
        "certificates": len(model.certificates),
    }
    template = page_environment().get_template("reward_file_page.html.j2")
    return template.render(
        **page_words(speaker),
        **page_head(title=title, created=None),
        heading="reward.file.title",
        css=style_sheet(),
        model=model,
        n_paying=len(paying),
        n_lacking=sum(not statuses[name].is_valid for name in paying),
        n_against=len(against),
        behaviors=[
            (name, list(_list_features(model, name, statuses, against))[:_MOST_FEATURES])
            for name in list(model.behaviors)[:_MOST_BEHAVIORS]
        ],
        known=settings_rows(known),
        fit=settings_rows(dict(model.settings)),
    )


def _list_features(
    model: RewardModel,
    behavior: str,
    statuses: dict[str, CertificateStatus],
    against: set[tuple[str, str]],
) -> Iterator[tuple[Any, ...]]:
    """Give name, weight, demand, whether it pays against that, and certificate; largest first."""
    demands = model.rubric.behavior(behavior).demands
    weights = model.behavior(behavior).weights
    for feature in sorted(weights, key=lambda name: -abs(weights[name])):
        status = statuses.get(feature)
        demand = say_demand(write_demand(demands[feature])) if feature in demands else None
        reason = None if status is None else Verbatim(status.reason)
        is_valid = status is not None and status.is_valid
        is_against = (behavior, feature) in against
        state = None if status is None else say(f"reward.certificate.{status.state}")
        yield Name(feature), weights[feature], demand, is_against, is_valid, state, reason
