"""`voirdire examine-reward`."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from cyclopts import Parameter

from voirdire._messages import shorten
from voirdire.cli.judging_progress import watch_judging, watch_steps
from voirdire.cli.model_judges import Only, choose_name
from voirdire.cli.options import (
    AsJson,
    Base,
    Confidence,
    File,
    Orders,
    RewardFile,
    RewardJudge,
    run_options,
)
from voirdire.cli.printing import (
    keep_when_stopped,
    listen_for_interrupts,
    print_tables,
    print_text,
    say_warnings,
)
from voirdire.cli.shell import Call, UsageError
from voirdire.cli.study_files import check_streams
from voirdire.cli.written_files import Page, check_written
from voirdire.errors import NoDataError, UncertifiedWarning
from voirdire.studies.reward.settings import RewardExaminationSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from voirdire.rewards.model import RewardModel
    from voirdire.studies.reward.result import RewardExamination

    ExaminationOptions: TypeAlias = RewardExaminationSettings
else:
    ExaminationOptions = run_options(
        RewardExaminationSettings,
        base=Base,
        orders=Orders,
        confidence_level=Confidence,
    )

__all__ = ["examine_reward_command"]


def examine_reward_command(
    comparisons: Annotated[str | None, Parameter(metavar="[COMPARISONS]")] = None,
    /,
    *,
    call: Call,
    reward: RewardFile,
    verdicts: Annotated[list[Path], Parameter(metavar="FILE")] = [],
    only: Only = None,
    judge: RewardJudge = None,
    bench: File = None,
    bench_verdicts: Annotated[list[Path], Parameter(metavar="FILE")] = [],
    settings: ExaminationOptions = RewardExaminationSettings(),
    page: Page = Page(),
    details: bool = False,
    as_json: AsJson = False,
) -> None:
    """Examine a reward: error rates, what drives it, refusals, nonsense, and a benchmark.

    Parameters
    ----------
    comparisons
        Completions with labels, pairs or ranked lists, as `voirdire fit` reads them; better not
        those of the fit. - reads standard input.
    verdicts
        Stored verdicts on COMPARISONS; repeatable. By default they are judged now.
    bench
        A benchmark: rows of prompt, chosen, rejected and perhaps subset.
    bench_verdicts
        Stored verdicts on it.
    details
        Show every feature.
    """
    _check_sources(call, COMPARISONS=comparisons, bench=bench)
    check_written(report=page.report)
    listen_for_interrupts()
    if only is not None or bench is None:
        judge = choose_name(judge, only, verdicts=verdicts)
    asked: dict[str, Any] = {
        "verdicts": verdicts or None,
        "judge": judge,
        "bench": bench,
        "bench_verdicts": bench_verdicts or None,
    }
    settings = replace(settings, from_classes=bool(settings.from_classes))
    examination = _examine(reward, comparisons, settings, asked=asked)
    page.write(examination)
    if as_json:
        from voirdire.reporting.reward_json import reward_examination_to_json

        print_text(reward_examination_to_json(examination) + "\n")
        return
    from voirdire.reporting.reward_tables import RewardExaminationTables

    print_tables(RewardExaminationTables(examination, details=details))


_OPTIONS_OF = {
    "COMPARISONS": ("verdicts", "orders", "from_classes", "base", "columns", "format"),
    "bench": ("bench_verdicts",),
}
"""What says something of one source only."""


def _check_sources(call: Call, **sources: str | None) -> None:
    """Refuse no source, standard input twice, and options about a source that is not given."""
    if all(source is None for source in sources.values()):
        msg = "give COMPARISONS or `--bench`: there is nothing to examine it on."
        raise UsageError(msg)
    check_streams(*sources.values())
    for name, source in sources.items():
        if source is None:
            shown = name if name.isupper() else f"`--{name}`"
            call.refuse(_OPTIONS_OF[name], why=f"{shown} is not given")


def _examine(
    reward: Path,
    comparisons: str | None,
    settings: RewardExaminationSettings,
    *,
    asked: dict[str, Any],
) -> RewardExamination:
    from voirdire.judging.outputs import STORE_NAME
    from voirdire.rewards.reward_file import load_reward
    from voirdire.studies.reward.examine import examine_reward

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncertifiedWarning)  # a note of the examination says it
        model = load_reward(reward)
    asks_a_model = _asks_a_model(model, comparisons, asked)
    stopping: AbstractContextManager[None] = nullcontext()
    if asks_a_model:
        store = settings.store or str(reward.resolve().parent / STORE_NAME)
        settings = replace(settings, store=store)
        is_streamed = "-" in (comparisons, asked["bench"])
        stopping = keep_when_stopped("-" if is_streamed else "", store=store)
    with stopping, say_warnings(), _watch(asks_a_model=asks_a_model) as watching:
        examination = examine_reward(model, comparisons, settings=settings, **watching, **asked)
    if comparisons is not None and not examination.n_comparisons:
        _refuse_nothing(examination, source="<stdin>" if comparisons == "-" else comparisons)
    return examination


def _asks_a_model(model: RewardModel, comparisons: str | None, asked: Mapping[str, Any]) -> bool:
    """Tell whether calls of a language model are to be paid for."""
    from voirdire.judging.judges_file import is_judges_file
    from voirdire.models import is_model_name
    from voirdire.rewards.reward_judge import choose_judge

    verdicts = {"verdicts": comparisons, "bench_verdicts": asked["bench"]}
    if all(source is None or asked[name] for name, source in verdicts.items()):
        return False
    judge = choose_judge(model.judge, asked["judge"])
    return not isinstance(judge, str) or is_model_name(judge) or is_judges_file(judge)


@contextmanager
def _watch(*, asks_a_model: bool) -> Iterator[dict[str, Any]]:
    """Show calls where some are made, else the steps of the examination."""
    if asks_a_model:
        with watch_judging("-") as judging:
            yield {"judging": judging}
    else:
        with watch_steps("examining") as tell:
            yield {"progress": tell}


def _refuse_nothing(examination: RewardExamination, *, source: str) -> None:
    """Say that no comparison could be ranked, and what stood in the way first."""
    why = "".join(
        f" The first of {len(examination.dropped):,} set aside, {row.place()}"
        f"{'' if row.item is None else f', {shorten(row.item)!r}'}: {row.reason}."
        for row in examination.dropped[:1]
    )
    msg = f"{source}: must hold at least one comparison that can be ranked, got none.{why}"
    raise NoDataError(msg)
