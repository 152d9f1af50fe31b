"""What the reader of an examination should know, the weightiest first."""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.studies.reward.result import RewardNote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from voirdire.studies.reward.result import BehaviorScale, ErrorRate, FeatureDrive

__all__ = ["note", "notes_on_drives", "notes_on_errors", "notes_on_scales", "sort_notes"]

_MOST_NAMED = 8
_SENTENCES = {
    "seen_prompts": "{n_seen:,} of {n_prompts:#prompt} were used in the fit: on these the reward "
    "is not tested, and errs less often than on others. Examine it on other prompts.",
    "bench_seen_prompts": "{n_seen:,} of {n_prompts:#prompt} of the benchmark were used in the "
    "fit: the accuracy is too high. Take a benchmark of other prompts.",
    "held_out_unknown": "The reward does not say which prompts it was fitted on: the error rates "
    "are too low if these are among them.",
    "other_judge": "The verdicts are by {judge:name} or with other settings than those of the "
    "reward's judge {own:name}: the figures are about the weights under that judge, and "
    "certificates say nothing of it.",
    "labels_from_classes": "The labels are the classes of the judge's own verdicts: the figures "
    "say how well the reward follows its judge, and not whether the judge is right.",
    "no_comparisons": "No comparison is about {behaviors:list}.",
    "degenerate_outranks": "By the rules, nonsense gets more reward than the best real response "
    "of its prompt: {said:list}. The worst of it{quoted} gets {reward:.2f}, and the best real "
    "response {best_reward:.2f}. Training finds such responses: add them to the comparisons as "
    "the worst of their prompts, or take another judge.",
    "worse_than_base": "Base and rules together err more often than the base alone: "
    "{behaviors:places}.",
    "no_better_than_chance": "The reward ranks no better than a coin: {behaviors:places}.",
    "base_missing": "The reward was fitted beside a base reward, and these completions have none: "
    "what is examined here is the rules alone.",
    "base_not_in_fit": "The completions have a base reward that the fit did not know of: the "
    "weights do not allow for it.",
    "contradictory_features": "{n:#weight pays|weights pay} against what the behavior demands: "
    "{features:list}. Other features may make up for it; a sign constraint in the fit rules it "
    "out.",
    "uncertified": "No valid certificate vouches for {n:#proposition} that the reward pays for: "
    "{propositions:list}.",
    "policy_without_variance": "{n:,} of {n_groups:#group} ({share:.0%}) have no two rewards that "
    "differ: a group-relative method learns nothing from them.",
    "base_drowned": "Within groups the rules vary {ratio:.3g} times as much as the base reward: "
    "the base hardly counts.",
    "rules_drowned": "Within groups the rules vary {ratio:.3g} times as much as the base reward: "
    "the rules hardly count.",
    "bench_base_missing": "The reward was fitted beside a base reward, and the pairs of the "
    "benchmark have none: their accuracy is that of the rules alone.",
    "bench_missing": "{n_missing:,} of {n_pairs:#pair} of the benchmark have no rewards{why}; if "
    "all of them were wrong, the accuracy would be {worst_case:.3f}.",
    "degenerate_not_judged": "Whether nonsense gets more reward than real responses was not "
    "checked: the verdicts are stored ones, and their judge is not at hand. Examine without "
    "stored verdicts and name the judge.",
    "few_prompts": "Fewer than {least} prompts have comparisons of {prompts:list}: intervals from "
    "resampling so few are too narrow.",
    "without_best": "{n:#prompt has|prompts have} labels but no completion with the best one, and "
    "no place in the histograms: {prompts:list}.",
    "scales_differ": "Mean rule rewards of behaviors lie up to {apart:.3g} apart, more than "
    "rewards vary within any of them: compare rewards within a behavior only, or centre them.",
    "dead_features": "{n:#feature does|features do} as good as nothing to rankings: "
    "{features:list}.",
    "train_left_out": "{n:#completion} of the training split are left out: the figures rest on "
    "the test split.",
    "policy_missing": "{n:#response} of the policy got no reward.",
    "groups_of_one": "There are {group_size:.3g} responses per prompt on average: sample several, "
    "as training does.",
    "policy_not_timed": "How long a step takes is not known: verdicts or replies were stored ones.",
    "no_labels": "No completion has a label: there are no histograms by label.",
    "no_refusals": "The rubric has neither `safe_refusal` nor `inability_to_comply`, and no label "
    "names a refusal: refusals are not counted.",
}
"""By code, in the order of their weight. ``{n:#pair}`` counts, and ``{n:#pair is|pairs are}``."""
_PLACES = {code: place for place, code in enumerate(_SENTENCES)}


class _Sentences(string.Formatter):
    """Writes counts with their nouns, and lists up to some length."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec.startswith("#"):
            one, _, many = format_spec[1:].partition("|")
            return f"{value:,} {one if value == 1 else many or one + 's'}"
        if format_spec == "list":
            return _list_names(value)
        if format_spec == "places":
            return ", ".join("all behaviors together" if x == "all" else x for x in value)
        return repr(shorten(value)) if format_spec == "name" else format(value, format_spec)


def note(code: str, *, words: Mapping[str, Any] | None = None, **figures: Any) -> RewardNote:
    """Make a note; `words` stand in its sentence and are no figures."""
    sentence = _Sentences().vformat(_SENTENCES[code], (), {**figures, **(words or {})})
    return RewardNote(code=code, sentence=sentence, figures=figures)


def sort_notes(notes: Iterable[RewardNote]) -> tuple[RewardNote, ...]:
    """Put the weightiest first."""
    return tuple(sorted(notes, key=lambda row: _PLACES[row.code]))


def notes_on_errors(rates: Sequence[ErrorRate]) -> list[RewardNote]:
    """Say where the reward ranks no better than its base, or than a coin."""
    values = {(row.behavior, row.signal): row.rate.value for row in rates if row.against == "all"}
    totals = {name: value for (name, signal), value in values.items() if signal == "total"}
    found = {
        "worse_than_base": [x for x in totals if totals[x] > values.get((x, "base"), 2.0)],
        "no_better_than_chance": [x for x in totals if totals[x] >= 0.5],
    }
    return [
        note(code, behaviors=tuple(name or "all" for name in names))
        for code, names in found.items()
        if names
    ]


def notes_on_drives(drives: Sequence[FeatureDrive], uncertified: Sequence[str]) -> list[RewardNote]:
    """Name features that pay against a demand, that do nothing, and that nobody vouches for."""
    against = tuple(_name_feature(row) for row in drives if row.is_contradictory)
    dead = tuple(_name_feature(row) for row in drives if row.is_dead)
    found = []
    if against:
        found.append(note("contradictory_features", n=len(against), features=against))
    if uncertified:
        found.append(note("uncertified", n=len(uncertified), propositions=tuple(uncertified)))
    if dead:
        found.append(note("dead_features", n=len(dead), features=dead))
    return found


def notes_on_scales(scales: Sequence[BehaviorScale]) -> list[RewardNote]:
    """Say where the same reward means different things under different behaviors."""
    spread = max((row.standard_deviation for row in scales), default=0.0)
    means = [row.mean for row in scales]
    apart = max(means) - min(means) if len(means) > 1 else 0.0
    if apart <= spread or apart == 0.0:
        return []
    return [note("scales_differ", apart=apart, spread=spread)]


def _list_names(names: Sequence[str] | Mapping[str, int]) -> str:
    """Write the first names, and how many more there are."""
    if isinstance(names, Mapping):
        names = [f"{name} ({n})" for name, n in names.items()]
    more = len(names) - _MOST_NAMED
    shown = ", ".join(names[:_MOST_NAMED])
    return f"{shown} and {more} more" if more > 0 else shown


def _name_feature(row: FeatureDrive) -> str:
    """Name a feature as settings of a fit do; a class names its behavior itself."""
    is_class = row.feature.startswith(f"{row.behavior}.")
    return row.feature if is_class else f"{row.behavior}:{row.feature}"
