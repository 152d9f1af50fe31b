"""`voirdire examine-reward`."""

from __future__ import annotations

import warnings
from dataclasses import replace

from voirdire import rewards, studies
from voirdire._messages import shorten
from voirdire.cli import options as typed
from voirdire.cli.calls import refuse, require, say
from voirdire.cli.examine import GATE_NOT_PASSED
from voirdire.cli.models import choose_name
from voirdire.cli.printing import Shown, start_reading
from voirdire.cli.progress import running
from voirdire.cli.study_files import check_streams
from voirdire.errors import NoDataError, UncertifiedWarning


@typed.group_of()
class RewardOptions(studies.RewardExaminationSettings):
    """How a reward is examined."""


_OF_COMPARISONS = (
    *("verdicts", "orders", "from_classes", "base", "columns", "format"),
    *("gate", "n_nonsense", "against"),
)


def examine_reward_command(
    comparisons: typed.Comparisons = None,
    /,
    *,
    reward: typed.RewardFile,
    verdicts: typed.Sources = [],
    only: typed.Only = None,
    judge: typed.RewardJudge = None,
    bench: typed.Source = None,
    bench_verdicts: typed.Sources = [],
    against: typed.OptionalReward = None,
    settings: RewardOptions = RewardOptions(),
    gate: bool = False,
    shown: Shown = Shown(),
    details: bool = False,
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
    against
        An older reward, examined on the same comparisons: its figures stand beside those of the
        new one.
    gate
        Exit with status 3 where strings of words, compliance without content or answers between
        refusals are paid as real responses on more than one prompt in 16, where the reward's own
        gate stops good responses, where nothing was searched, and where a figure is shown to be
        worse than that of --against.
    details
        Show every feature.
    """
    rule = "give COMPARISONS or `--bench`: there is nothing to examine it on."
    require(comparisons is not None or bench is not None, rule)
    check_streams(comparisons, bench)
    if comparisons is None:
        refuse(_OF_COMPARISONS, why="COMPARISONS is not given")
    if bench is None:
        refuse(["bench_verdicts"], why="`--bench` is not given")
    shown.check()
    if only is not None or bench is None:
        judge = choose_name(judge, only, verdicts=verdicts, idle=())
    start_reading()
    from voirdire.judging.judges_file import is_judges_file
    from voirdire.judging.outputs import STORE_NAME
    from voirdire.models import is_model_name
    from voirdire.rewards.reward_judge import choose_judge

    settings = replace(settings, from_classes=bool(settings.from_classes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncertifiedWarning)  # a note of the examination says it
        model = rewards.load_reward(reward)
    is_paid = False  # for calls of a language model
    if not ((comparisons is None or verdicts) and (bench is None or bench_verdicts)):
        asked = choose_judge(model.judge, judge)
        is_paid = not isinstance(asked, str) or is_model_name(asked) or is_judges_file(asked)
    if is_paid:
        settings = replace(settings, store=settings.store or reward.resolve().parent / STORE_NAME)
    source = "-" if "-" in (comparisons, bench) else ""
    with running(source, store=settings.store or None, keeps=is_paid) as lines:
        examination = studies.examine_reward(
            model,
            comparisons,
            verdicts=verdicts or None,
            judge=judge,
            bench=bench,
            bench_verdicts=bench_verdicts or None,
            against=against,
            settings=settings,
            progress=lambda done, total: lines.tell("examining", done, total),
            judging=lines.tell_judging if is_paid else None,
        )
    if comparisons is not None and not examination.n_comparisons:
        why = "".join(
            f" The first of {len(examination.dropped):,} set aside, {row.place()}"
            f"{'' if row.item is None else f', {shorten(row.item)!r}'}: {row.reason}."
            for row in examination.dropped[:1]
        )
        source = "<stdin>" if comparisons == "-" else comparisons
        msg = f"{source}: must hold at least one comparison that can be ranked, got none.{why}"
        raise NoDataError(msg)
    shown.show(examination, details=details)
    if gate and examination.failures:
        say(f"voirdire: gate not passed: {'; '.join(examination.failures)}")
        raise SystemExit(GATE_NOT_PASSED)
