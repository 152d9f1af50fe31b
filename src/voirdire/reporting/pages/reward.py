"""The page of a reward, and its chapter on the page of an examination."""

from __future__ import annotations

import dataclasses
import math
import string
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from voirdire.reporting.number_formats import rounded_count
from voirdire.reporting.pages.frame import (
    draw_figure,
    drop_reasons,
    page_environment,
    page_head,
    page_words,
    settings_rows,
    style_sheet,
)
from voirdire.reporting.pages.items import ItemCard, ItemText
from voirdire.reporting.pages.speech import (
    Count,
    Decimal,
    Dollars,
    Label,
    Listing,
    Name,
    Percent,
    Said,
    Seconds,
    Share,
    ShareEnds,
    Speaker,
    Verbatim,
    one_line,
    say,
)
from voirdire.reporting.reward_json import reward_examination_as_dict, reward_examination_from_json
from voirdire.studies.reward.result import RewardExamination

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from markupsafe import Markup

    from voirdire._types import Language
    from voirdire.studies.reward.result import (
        BenchSubset,
        FeatureDrive,
        MisrankedPair,
        NearIdeal,
        RateEstimate,
        RefusalErrors,
        RewardNote,
    )

__all__ = ["reward_chapter", "reward_report"]

_SIGNALS = ("base", "total", "rules")
_WITH_SIGNALS = ("error_rates", "histograms", "near_ideal", "refusals", "bench")
_BESIDE = ("weights", "fit", "against_demands", "certificates")
"""Of the reward: shown as tables, or too long for a list of settings."""
_SPOKEN = (Decimal, Dollars, Seconds, ShareEnds)
_MOST_BEHAVIORS = 20
_MOST_DRAWN = 6
"""Behaviors with figures: drawing takes longer than all the rest."""
_MOST_PAIRS = 300


def reward_report(
    content: RewardExamination | dict[str, Any] | str | bytes,
    *,
    language: Language = "en",
    title: str | None = None,
    created: str | None = None,
    source: str = "reward.json",
) -> str:
    """Write the examination of a reward as one HTML page.

    Parameters
    ----------
    content : RewardExamination, dict, str or bytes
        What `examine_reward` returns, or what ``voirdire examine-reward --json`` prints: as text,
        bytes or decoded.
    language : {"en", "zh"}, optional
        English or Simplified Chinese.
    title : str, optional
        Heading of the page.
    created : str, optional
        Date to show; none by default, so that the same examination gives the same bytes.
    source : str, optional
        What errors call the content.

    Returns
    -------
    str
        A document of its own: no font, picture or style from elsewhere, and no script but the
        search among misranked pairs, where there are any.

    Raises
    ------
    InputError
        If the content is not the JSON of a reward's examination; the message names the place.

    Notes
    -----
    Names, labels, subsets and texts are shortened, escaped and isolated; nothing in the content can
    act on the page. Figures are rounded on the page only.

    Examples
    --------
    >>> page = reward_report(
    ...     {
    ...         "schema": "voirdire.reward_examination/1",
    ...         "reward": {"name": "by hand"},
    ...         "n_items": 0, "n_prompts": 0, "n_comparisons": 0, "is_held_out": True,
    ...     }
    ... )
    >>> page[:15]
    '<!doctype html>'
    """
    speaker = Speaker(language, "reward")
    head = page_head(title=title, created=created)
    report = _read(content, source=source)
    return _render(
        "reward_page.html.j2",
        report,
        speaker,
        **head,
        heading="reward.page.title",
        h=2,
        is_chapter=False,
        css=style_sheet(),
        has_items=bool(report.misranked),
        simulated=report.settings.get("simulated") is True,
    )


def reward_chapter(
    content: RewardExamination | dict[str, Any] | str | bytes,
    *,
    language: Language = "en",
    source: str = "reward.json",
) -> Markup:
    """Write the examination of a reward as a chapter of a page that has the style sheet.

    Parameters
    ----------
    content : RewardExamination, dict, str or bytes
        As for `reward_report`.
    language : {"en", "zh"}, optional
        That of the page.
    source : str, optional
        What errors call the content.

    Returns
    -------
    Markup
        One ``<article id="reward">``; every id in it begins with ``reward``.

    Raises
    ------
    InputError
        As for `reward_report`.
    """
    from markupsafe import Markup

    report, speaker = _read(content, source=source), Speaker(language, "reward")
    text = _render("reward_body.html.j2", report, speaker, h=3, is_chapter=True)
    return Markup(text)  # noqa: S704  # escaped by the template


def _read(content: Any, *, source: str) -> RewardExamination:
    """Read the record; without a base reward, what it calls the total are the rules."""
    if isinstance(content, RewardExamination):
        content = reward_examination_as_dict(content)
    report = reward_examination_from_json(content, source=source)
    parts: dict[str, tuple[Any, ...]] = {name: getattr(report, name) for name in _WITH_SIGNALS}
    alone: dict[str, Any] = {
        name: tuple(dataclasses.replace(row, signal="rules") for row in rows)
        for name, rows in parts.items()
        if {row.signal for row in rows} == {"total"}
    }
    return dataclasses.replace(report, **alone)


def _render(template: str, report: RewardExamination, speaker: Speaker, **more: Any) -> str:
    reasons, n_other_reasons = drop_reasons(report.dropped)
    known = {name: each for name, each in report.reward.items() if name not in _BESIDE}
    environment = page_environment(
        is_known=_is_known,
        text_of=_text_of,
        rounded_count=rounded_count,
        **{kind.__name__: kind for kind in _SPOKEN},
    )
    return environment.get_template(template).render(
        **page_words(speaker),
        report=report,
        view=RewardView(report),
        notes=_say_notes(report.notes, speaker),
        draw=partial(draw_figure, result=report, language=speaker.language),
        drop_reasons=reasons,
        n_other_reasons=n_other_reasons,
        run_settings=settings_rows(dict(report.settings)),
        reward_settings=settings_rows(known),
        **more,
    )


# The record in the order of the page --------------------------------------------------------------

State: TypeAlias = Literal["passed", "depends", "failed", "no_evidence"]
HeldOut: TypeAlias = Literal["held_out", "not_held_out", "held_out_unknown"]
Finding: TypeAlias = Literal["helps", "hurts", "unclear", "better", "worse", "chance", "undefined"]
Row = TypeVar("Row")

_USUAL_LEVEL = 0.95
_CHANCE = 0.5
_UNEVEN = 2.0
_HALF = 0.5
_STRONGEST = 5
_STRONG = 0.05
"""Share of the spread below which a feature is not worth a sentence."""
_NOTEWORTHY = 0.005
"""Half a point of the error rate: less is noise."""


@dataclass(frozen=True, kw_only=True)
class SignalRow:
    """Rows of the record that differ by their signal only, and what they share."""

    key: tuple[Any, ...]
    n: int
    by_signal: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class BehaviorRow:
    """What the table of behaviors shows of one of them, or of all together."""

    behavior: str | None
    number: int
    state: State
    short: Said
    errors: dict[str, RateEstimate | None]
    near: SignalRow | None
    refusals: SignalRow | None
    n_against: int
    certified: tuple[int, int]

    @property
    def is_drawn(self) -> bool:
        """Whether it has figures."""
        return self.number <= _MOST_DRAWN


@dataclass(frozen=True)
class RewardView:
    """The record in the order of the page, and what stands out in it."""

    report: RewardExamination

    @cached_property
    def _ranking(self) -> set[str]:
        """The rewards that rank the comparisons."""
        return {row.signal for row in self.report.error_rates if _is_known(row.rate.value)}

    @cached_property
    def signals(self) -> tuple[str, ...]:
        """The rewards to show: without a base reward only the rules."""
        bench = {row.signal for row in self.report.bench if _is_known(row.accuracy.value)}
        found = self._ranking | bench
        return tuple(x for x in _SIGNALS if x in found) if "base" in found else ("rules",)

    @cached_property
    def main(self) -> str:
        """The reward that training would see."""
        found = self._ranking or set(self.signals)
        return "total" if found >= {"base", "total"} else "rules"

    @cached_property
    def level(self) -> Percent:
        """The confidence level of the intervals."""
        level = self.report.settings.get("confidence_level")
        return Percent(level if isinstance(level, float) and 0 < level < 1 else _USUAL_LEVEL)

    @cached_property
    def held_out(self) -> HeldOut:
        """Whether the fit has seen the prompts, as far as it is known."""
        if self.report.is_held_out:
            return "held_out"
        return "held_out_unknown" if "held_out_unknown" in self._codes else "not_held_out"

    @cached_property
    def _codes(self) -> set[str]:
        return {note.code for note in self.report.notes}

    def error(self, signal: str, behavior: str | None = None) -> RateEstimate | None:
        """Find an error rate over all comparisons; None where there is none."""
        for row in self.report.error_rates:
            if (row.behavior, row.signal, row.against) == (behavior, signal, "all"):
                return row.rate if _is_known(row.rate.value) else None
        return None

    def finding(self, behavior: str | None = None) -> Finding:
        """Say what the intervals show of a behavior, or of all together."""
        rate, base = self.error(self.main, behavior), self.error("base", behavior)
        if rate is None:
            return "undefined"
        if "base" not in self.signals or base is None:
            return "better" if rate.high < _CHANCE else "worse" if rate.low > _CHANCE else "chance"
        if rate.high < base.low:  # never with nan
            return "helps"
        return "hurts" if base.high < rate.low else "unclear"

    @cached_property
    def next_step(self) -> str:
        """The one thing to do now: the key of its sentence."""
        found = self.finding()
        steps = {
            "compare": found == "undefined",
            "mend": found in ("hurts", "worse"),
            "unseen": not self.report.is_held_out,
            "nonsense": "degenerate_outranks" in self._codes,
            "demands": "contradictory_features" in self._codes,
            "certify": "uncertified" in self._codes,
            "prompts": found in ("unclear", "chance"),
            "policy": self.report.policy is None,
            "train": True,
        }
        return "reward.next." + next(step for step, is_due in steps.items() if is_due)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The behaviors in the order in which they come."""
        report = self.report
        rows: tuple[Any, ...] = (*report.scales, *report.drives, *report.error_rates)
        return tuple(dict.fromkeys(row.behavior for row in rows if row.behavior is not None))

    @cached_property
    def listed(self) -> Listing:
        """The behaviors as a list in a sentence."""
        return Listing(tuple(map(Name, self.names)))

    @cached_property
    def overall(self) -> BehaviorRow:
        """All behaviors together."""
        return self._behavior_row(None, number=0)

    @cached_property
    def behaviors(self) -> list[BehaviorRow]:
        """The behaviors that are shown."""
        names = enumerate(self.names[:_MOST_BEHAVIORS], start=1)
        return [self._behavior_row(name, number=number) for number, name in names]

    def _behavior_row(self, behavior: str | None, *, number: int) -> BehaviorRow:
        found = self.finding(behavior)
        states: dict[str, State] = {"helps": "passed", "better": "passed"}
        states |= {"hurts": "failed", "worse": "failed"}
        state, short = states.get(found, "no_evidence"), say(f"reward.short.{found}")
        if state == "passed" and not self.report.is_held_out:  # half of good news
            state, short = "depends", say(f"reward.short.{self.held_out}", short=short)
        drives = [x for x in self.report.drives if behavior in (None, x.behavior)]
        return BehaviorRow(
            behavior=behavior,
            number=number,
            state=state,
            short=short,
            errors={signal: self.error(signal, behavior) for signal in self.signals},
            near=next((row for row in self.near if row.key[0] == behavior), None),
            refusals=next((row for row in self.refusals if row.key[0] == behavior), None),
            n_against=sum(row.is_contradictory and bool(row.demand) for row in drives),
            certified=_count_certified(drives),
        )

    @cached_property
    def certified(self) -> tuple[int, int]:
        """How many features with a weight have a certified judge, and how many there are."""
        return _count_certified(self.report.drives)

    @cached_property
    def near(self) -> list[SignalRow]:
        """The hardest comparisons by behavior and its two best labels."""
        keys, rows = ("behavior", "best", "next"), self.report.near_ideal
        return _group_by_signal(rows, keys, lambda row: row.error_rate.n)

    @cached_property
    def worst_near(self) -> NearIdeal | None:
        """Where the hardest comparisons go wrong most often under the reward of training."""
        return self._worst(self.report.near_ideal, lambda row: row.error_rate.value)

    @cached_property
    def is_gap_unclear(self) -> bool:
        """Whether some two best labels are not told apart."""
        rows = [x for x in self.report.near_ideal if x.signal == self.main]
        gaps = [(x.mean_gap.low, x.mean_gap.high) for x in rows if _is_known(x.error_rate.value)]
        return any(_or_zero(low) <= 0 <= _or_zero(high) for low, high in gaps)

    @cached_property
    def refusals(self) -> list[SignalRow]:
        """The refusals by behavior, kind, and what says that it is one."""
        keys, rows = ("behavior", "kind", "by"), self.report.refusals
        return _group_by_signal(rows, keys, lambda row: row.rate.n)

    @cached_property
    def worst_refusals(self) -> RefusalErrors | None:
        """Where refusals go wrong most often under the reward of training."""
        return self._worst(self.report.refusals, lambda row: row.rate.value)

    def _worst(self, rows: Iterable[Row], value: Callable[[Any], float]) -> Row | None:
        known = [x for x in rows if x.signal == self.main and _is_known(value(x))]  # type: ignore[attr-defined]
        return max(known, key=value, default=None)

    @cached_property
    def bench(self) -> list[SignalRow]:
        """The benchmark: all pairs and the mean over subsets first."""
        rows = _group_by_signal(self.report.bench, ("subset",), lambda row: row.accuracy.n)
        return sorted(rows, key=lambda row: {None: 0, "*": 1}.get(row.key[0], 2))

    @cached_property
    def accuracies(self) -> tuple[BenchSubset | None, BenchSubset | None]:
        """The accuracy on all pairs of the reward of training, and of its base."""
        rows = [x for x in self.report.bench if x.subset is None and _is_known(x.accuracy.value)]
        found = {row.signal: row for row in rows}
        return found.get("total" if "base" in found else "rules"), found.get("base")

    def labels(self, behavior: str) -> list[SignalRow]:
        """Lay out the histograms of a behavior by label, the best first."""
        rows = [row for row in self.report.histograms if row.behavior == behavior]
        return _group_by_signal(rows, ("label",), lambda row: sum(row.counts))

    def drives(self, behavior: str) -> list[FeatureDrive]:
        """List the features of a behavior, the one that moves rankings most first."""
        rows = [row for row in self.report.drives if row.behavior == behavior]
        return sorted(rows, key=lambda row: (-_or_zero(row.share), -abs(_or_zero(row.weight))))

    def drives_said(self, rows: Sequence[FeatureDrive]) -> list[Said]:
        """Say what stands out among the sorted features of a behavior."""
        strong = [row for row in rows[:_STRONGEST] if _or_zero(row.share) >= _STRONG]
        parts = {
            "contradictory": [row for row in rows if row.is_contradictory and row.demand],
            "out_of_order": [row for row in rows if row.is_contradictory and not row.demand],
            "dead": [row for row in rows if row.is_dead],
            "uncertified": [row for row in strong if row.weight and not row.is_certified],
        }
        named = [
            say(f"reward.drives.{key}", features=_name_features(found))
            for key, found in parts.items()
            if found
        ]
        rate = self.error(self.main, rows[0].behavior)
        return [
            *_say_largest_features(rows),
            *named,
            *(() if rate is None else _say_harmful_feature(rows, rate.value)),
        ]

    @cached_property
    def scales_said(self) -> list[Said]:
        """Say how far the origins and the scales of the behaviors are apart."""
        rows = [x for x in self.report.scales if _is_known(x.mean) and x.standard_deviation > 0]
        if len(rows) < 2:  # nothing to put side by side
            return []
        rows.sort(key=lambda row: row.standard_deviation)
        narrow, usual, wide = rows[0], rows[len(rows) // 2].standard_deviation, rows[-1]
        low, high = (choose(rows, key=lambda row: row.mean) for choose in (min, max))
        gap = high.mean - low.mean
        found = [say("reward.scales.alike")]
        if gap > usual:
            names = {"lowest": Name(low.behavior), "highest": Name(high.behavior)}
            means = {"gap": Decimal(gap), "low": Decimal(low.mean), "high": Decimal(high.mean)}
            found = [say("reward.scales.apart", ratio=Decimal(gap / usual, 1), **names, **means)]
        ratio = wide.standard_deviation / narrow.standard_deviation
        if ratio >= _UNEVEN:
            names = {"wide": Name(wide.behavior), "narrow": Name(narrow.behavior)}
            found.append(say("reward.scales.uneven", ratio=Decimal(ratio, 1), **names))
        return found

    @cached_property
    def classes(self) -> list[tuple[str, str, float]]:
        """Shares of the policy's classes as behavior, class and share."""
        policy = self.report.policy
        shares = {} if policy is None else policy.class_shares
        return [(*name.rpartition(".")[::2], share) for name, share in shares.items()]

    @cached_property
    def certificates(self) -> list[tuple[str, str, str]]:
        """What certificates say: proposition, state and reason."""
        found = self.report.reward.get("certificates")
        rows = found.items() if isinstance(found, dict) else ()
        return [(name, _text_of(row, "state"), _text_of(row, "reason")) for name, row in rows]

    @cached_property
    def cards(self) -> list[ItemCard]:
        """The misranked pairs, those by most of each behavior first."""
        return [_make_pair_card(pair) for pair in self.report.misranked[:_MOST_PAIRS]]


def _group_by_signal(
    rows: Iterable[Any], names: Sequence[str], count: Callable[[Any], int]
) -> list[SignalRow]:
    """Put rows side by side that have the same values under these names."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        key = tuple(getattr(row, name) for name in names)
        found.setdefault(key, {})[row.signal] = row
    return [
        SignalRow(key=key, n=max(map(count, each.values())), by_signal=each)
        for key, each in found.items()
    ]


def _is_known(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _or_zero(value: float) -> float:
    return value if math.isfinite(value) else 0.0


def _text_of(value: Any, key: str = "") -> str:
    """Read a text that stands there by itself or in an object."""
    found = value.get(key) if isinstance(value, dict) else value
    return found if isinstance(found, str) else ""


def _count_certified(drives: Iterable[FeatureDrive]) -> tuple[int, int]:
    """Count the features with a weight whose judge is certified, and all with a weight."""
    rows = [row for row in drives if _or_zero(row.weight)]
    return sum(row.is_certified for row in rows), len(rows)


def _name_features(rows: Sequence[FeatureDrive]) -> Listing:
    return Listing(tuple(Name(row.feature.removeprefix(f"{row.behavior}.")) for row in rows))


def _say_largest_features(rows: Sequence[FeatureDrive]) -> list[Said]:
    """Name the fewest features that make up half of the spread."""
    total = 0.0
    for place, row in enumerate(rows, start=1):
        total += _or_zero(row.share)
        if total >= _HALF:
            share = Percent(total)
            return [say("reward.drives.most", features=_name_features(rows[:place]), share=share)]
    return []


def _say_harmful_feature(rows: Sequence[FeatureDrive], error: float) -> list[Said]:
    """Name the feature without which the reward would rank better, where there is one."""
    known = [x for x in rows if _is_known(x.error_rate_without) and _or_zero(x.weight)]
    least = min(known, key=lambda row: row.error_rate_without, default=None)
    if least is None or error - least.error_rate_without < _NOTEWORTHY:
        return []
    figures = {"without": Share(least.error_rate_without), "error": Share(error)}
    return [say("reward.drives.helpless", feature=_name_features([least]), **figures)]


# Notes and items ----------------------------------------------------------------------------------

_SHARES = ("share", "cost", "worst_case")


def _say_notes(
    notes: Sequence[RewardNote], speaker: Speaker
) -> list[tuple[Said | Verbatim, Said | None]]:
    """Say each note, and what to do about those that change what the reader should do."""
    todo = {x.code: say(key) for x in notes if (key := f"reward.todo.{x.code}") in speaker.phrases}
    return [(_say_note(note, speaker), todo.get(note.code)) for note in notes]


def _say_note(note: RewardNote, speaker: Speaker) -> Said | Verbatim:
    """Say a note by its code where the language has words for it, else as it stands."""
    key = f"reward.note.{note.code}"
    parsed = string.Formatter().parse(speaker.phrases.get(key, ""))
    wanted = {name for _, name, _, _ in parsed if name}
    if key not in speaker.phrases or not wanted <= note.figures.keys():  # of another version
        return Verbatim(note.sentence)
    return say(key, **{name: _convert_figure(name, note.figures[name]) for name in wanted})


def _convert_figure(name: str, value: Any) -> Any:
    """Turn a figure of a note into something that can be said."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**15:
        return Count(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Share(float(value)) if name in _SHARES else Decimal(float(value))
    if isinstance(value, dict | list | tuple):
        return Listing(tuple(Name(str(each)) for each in value))
    return Name("–" if value is None else str(value))


def _make_pair_card(pair: MisrankedPair) -> ItemCard:
    """Show the texts of a misranked pair, both rewards, and the features that do most."""
    better, worse = pair.better, pair.worse
    sides = (("reward.pairs.better", better), ("reward.pairs.worse", worse))
    texts = (("items.prompt", pair.prompt), *((key, side.response) for key, side in sides))
    figures = [
        (say(key), say("reward.pairs.reward", label=_label(side.label), reward=Decimal(side.reward),
                       base=Decimal(side.base), rules=Decimal(side.rules)), Name(side.item))
        for key, side in sides
    ]  # fmt: skip
    features = [
        (Name(row.feature), say("reward.pairs.feature", difference=Decimal(row.difference)), None)
        for row in pair.features
    ]
    tags = {"reward.column.behavior": pair.behavior}
    tags |= {f"{key}.label": side.label for key, side in sides if side.label is not None}
    summary = say(
        "reward.pairs.summary",
        behavior=Name(pair.behavior),
        better=_label(better.label),
        worse=_label(worse.label),
        difference=Decimal(pair.difference),
    )
    return ItemCard(
        title=pair.prompt or f"{better.item} / {worse.item}",
        summary=(summary,),
        texts=[ItemText(heading=key, text=text) for key, text in texts if text is not None],
        rows=(*figures, *features),
        tags={key: one_line(tag, width=200) for key, tag in tags.items()},
    )


def _label(label: str | None) -> Label | Name:
    return Name("–") if label is None else Label(label)
