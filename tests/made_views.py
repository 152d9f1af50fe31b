"""A result of every kind that a view lays out, with names from a file that nobody has checked."""

from functools import cache

import polars as pl

from made_training_run import made_run
from rewards.fitting.fit_cases import labelled_case
from rewards.fitting.test_fit import fit
from voirdire.judging import CallSummary, JudgingSummary, ReplyListing, RunEstimate, StoredReply
from voirdire.judging import SeveralJudged as Judged
from voirdire.judging.summary import ClassSummary, QuestionSummary
from voirdire.records.replies import AnswerSummary
from voirdire.reporting.pages.reward import fit_view, score_view, synthesis_view
from voirdire.reporting.pages.training import sample_view, training_view
from voirdire.reporting.pages.verdicts import (
    estimates_view,
    judging_view,
    replies_view,
    rubrics_view,
    several_view,
    verdicts_view,
)
from voirdire.rewards import SlotCount, SynthesisSummary
from voirdire.rewards.scoring import BehaviorScores, ScoringSummary
from voirdire.rewards.training.sample import TrainingSample
from voirdire.rubrics import load_rubric

NAN = float("nan")


def made_calls(name="tone", **changes):
    answer = AnswerSummary(question=name, kind="choice", n_answered=10, n_failed=2,
                           shares={"warm": 0.3, "cold": 0.7}, mean=NAN)  # fmt: skip
    scale = AnswerSummary(question="stars", kind="scale", n_answered=12, n_failed=0, shares={},
                          mean=3.5)  # fmt: skip
    settled = {
        "n_calls": 24,
        "n_retries": 3,
        "n_reused": 5,
        "prompt_tokens": 1_200,
        "cached_tokens": 100,
        "completion_tokens": 90,
        "cost": 0.25,
        "missing_mass": {},
        "steps_down": (f"{name} was refused",),
        "failures": {"timeout": 2},
        "n_kept": 4,
        "answers": (answer, scale),
        "examples": {"timeout": f"timeout: {name} took 30 s"},
    }
    return CallSummary(**settled | changes)


def made_judging(name="gpt", *, output="out.parquet", **changes):
    settled = {
        "output": output, "layout": "long", "judge": name, "source": "stated",
        "rubric": name, "rubric_version": "1", "rubric_hash": "sha256:00",
        "fingerprint": "sha256:01", "threshold": 0.5, "judged": "final_answer",
        "n_items": 12, "n_reused": 2, "calls": made_calls(name), "notes": (f"see {name}",),
        "questions": (
            QuestionSummary(question=name, share_true=0.25, mean_probability=0.3, n_failed=2,
                            trusted=False),
        ),
        "classes": (
            ClassSummary(behavior=name, completion_class="ideal", share=0.5,
                         mean_probability=0.45, n_items=12),
        ),
        "asked": {"name": name, "mode": "joint", "probability": "stated", "language": "en"},
    }  # fmt: skip
    return JudgingSummary(**settled | changes)


def made_verdicts(name="polite"):
    name = name.encode(errors="replace").decode()  # no table holds half a pair
    return pl.DataFrame(
        {
            "item": ["a", "b", "a", "b"], "judge": [name, name, "other", "other"],
            "question": [name] * 4, "label": ["true", "false", None, "true"],
            "probability": [0.9, 0.2, None, 0.8], "failure": [None, None, f"{name}: late", None],
            "behavior": [name] * 4, "source": [None] * 4, "reason": [name, None, None, None],
            "contradicts": ["true", None, None, None],
            "prompt": [name] * 4,
        }
    )  # fmt: skip


def made_score(name="reward"):
    row = BehaviorScores(behavior=name, n_items=3, n_scored=2, mean=0.5, standard_deviation=0.1,
                         minimum=0.25, maximum=0.75, mean_rule=0.5, mean_base=NAN)  # fmt: skip
    missing = {"no behavior": 2, "no verdict": 1, f"{name} is late": 1}
    return ScoringSummary(output="r.jsonl", reward=name, reward_hash="", rubric=name,
                          rubric_version="1", judge=name, fingerprint="", n_items=7, n_scored=2,
                          missing=missing, behaviors=(row,), is_centered=True)  # fmt: skip


def made_synthesis(name="gpt"):
    settled = dict.fromkeys(("rubric_hash", "judge_fingerprint"), "")
    calls = CallSummary(n_calls=9, n_retries=1, n_reused=0, prompt_tokens=90, cached_tokens=0,
                        completion_tokens=30, cost=None, steps_down=(), failures={},
                        missing_mass={})  # fmt: skip
    return SynthesisSummary(
        **settled, output="made.jsonl", rejected_output="made.rejected.jsonl", dropped_output=None,
        rubric=name, rubric_version="1", recipes=name, model=name, judge=name, threshold=0.5,
        language="en", seed=0, n_attempts=2, n_prompts=3, n_complete=2, n_written=7, n_rejected=1,
        slots=(SlotCount(behavior=name, label="ideal", n_wanted=3, n_written=2),), n_dropped=0,
        dropped=(), calls=calls, judge_calls=made_calls(name), notes=(f"{name} is slow",),
    )  # fmt: skip


def made_sample(name="refuse"):
    return TrainingSample(
        run="runs/first", n_items=3, n_completions=160, n_different=80,
        strata={f"{name}/early": {"n_different": 80, "n_drawn": 3}}, seed=5,
        sheets=("labels-1.csv", "labels-2.csv"),
        items="i.jsonl", verdicts="v.parquet", key="key.csv", n_labels=12,
        command="voirdire examine --humans labels-1.csv --humans labels-2.csv",
    )  # fmt: skip


def made_replies(name="gpt"):
    replies = [
        StoredReply(judge=name, item="ab" * 32, id=name, call="joint", attempt=0, outcome="reply",
                    text=f"first\n{name}"),
        StoredReply(judge=name, item="cd" * 32, id=None, call="joint", attempt=1,
                    outcome="failure", reason=f"timeout: {name}"),
    ]  # fmt: skip
    return ReplyListing(replies=tuple(replies), n_replies=5)


def made_several(*names):
    judged = Judged()
    judged += [made_judging(name, output=f"v/{name[:4]}.parquet") for name in names]
    return judged


@cache
def made_fit():
    return fit(labelled_case(2, n_prompts=25, base=True), n_resamples=50, l2=None,
               fixed={"polite": 1.5}, ignored=["long"])  # fmt: skip


VIEWS = {
    "estimates": lambda name: estimates_view(
        [RunEstimate(judge=name, n_items=9, n_dropped=0, n_calls=7, n_stored=2, prompt_tokens=50,
                     completion_tokens=5, cost=0.001, n_kept=3)]
    ),
    "fit": lambda name: fit_view(made_fit()),
    "judging": lambda name: judging_view(made_judging(name)),
    "replies": lambda name: replies_view(made_replies(name)),
    "rubrics": lambda name: rubrics_view({name: load_rubric("safety")}),
    "sample": lambda name: sample_view(made_sample(name)),
    "score": lambda name: score_view(made_score(name)),
    "several": lambda name: several_view(made_several(name, "other")),
    "synthesis": lambda name: synthesis_view(made_synthesis(name), rubric=name),
    "training": lambda name: training_view(
        made_run(12, name=name, behaviors=(name, "comply"), propositions=(name, "b", "c"),
                 folder=f"runs/{name}", dropped=(name,))
    ),
    "verdicts": lambda name: verdicts_view(made_verdicts(name), name=name),
}  # fmt: skip
"""By its name what makes a view with this name in every place that a file may fill."""
