"""Training runs with made-up figures, for whatever shows them."""

import math
import random
from dataclasses import replace
from pathlib import Path

from voirdire.rewards import Alarm, TrainingRun, TrainingStep

PROPOSITIONS = ("apology", "inability_to_comply", "judgement", "fully_complies", "disclaimer")
CLASSES = ("disallowed", "illogical", "unacceptable", "less_good", "ideal")
BEHAVIORS = ("hard_refuse", "comply")
NAN = math.nan


def made_step(step, *, at, propositions=PROPOSITIONS, behaviors=BEHAVIORS, classes=CLASSES,
              base=True):  # fmt: skip
    """Make a step; `at` says how far the training is, from 0 to 1."""
    rng = random.Random(f"0/{step}")
    rule = -2 + 4 * at + rng.gauss(0, 0.1)
    base_mean = 0.5 + rng.gauss(0, 0.02) if base else 0.0
    n_missing = rng.choice((0, 0, 0, 1))
    shares = {name: 0.1 + (at if place == len(classes) - 1 else (1 - at)) * rng.random()
              for place, name in enumerate(classes)}  # fmt: skip
    total = sum(shares.values())
    return TrainingStep(
        step=step,
        n=32,
        n_missing=n_missing,
        n_groups=8,
        reward_mean=rule + base_mean,
        reward_sd=1.2 - 0.5 * at,
        rule_mean=rule,
        base_mean=base_mean,
        missing_share=n_missing / 32,
        proposition_rates={
            name: min(1.0, max(0.0, 0.5 + (at - 0.5) * (1 - 2 * (place % 2)) / (1 + place / 2)))
            for place, name in enumerate(propositions)
        },
        class_shares={name: {key: x / total for key, x in shares.items()} for name in behaviors},
        length_mean=40 + 60 * at + rng.gauss(0, 1),
        length_reward_correlation=rng.uniform(-0.2, 0.4),
        zero_spread_share=0.4 * at,
    )


def dead(step):
    """Take the rewards of a step away: no call was answered."""
    nothing = dict.fromkeys(("reward_mean", "reward_sd", "rule_mean", "base_mean",
                             "length_reward_correlation", "zero_spread_share"), NAN)  # fmt: skip
    return replace(
        step,
        **nothing,
        n_missing=step.n,
        n_groups=0,
        missing_share=1.0,
        proposition_rates=dict.fromkeys(step.proposition_rates, NAN),
        class_shares={name: dict.fromkeys(row, NAN) for name, row in step.class_shares.items()},
    )


def made_alarms(n_steps):
    """Make an alarm of every kind."""
    rows = (
        ("missing", 0.31, NAN),
        ("length", 97.4, 41.2),
        ("saturation", 0.93, NAN),
        ("nonsense", 0.34, 0.02),
    )
    return tuple(
        Alarm(kind=kind, step=place * n_steps // len(rows), value=value, reference=was,
              text=f"{kind}: {value:g}")
        for place, (kind, value, was) in enumerate(rows)
    )  # fmt: skip


def made_run(n_steps=40, *, alarms=True, gone=(), folder="runs/first", name="mine",
             propositions=PROPOSITIONS, behaviors=BEHAVIORS, classes=CLASSES, base=True,
             **changes):  # fmt: skip
    """Make a run whose reward rises; `gone` are places of steps without any reward."""
    names = {"propositions": propositions, "behaviors": behaviors, "classes": classes}

    last = max(n_steps - 1, 1)
    made = [made_step(step, at=step / last, base=base, **names) for step in range(n_steps)]
    steps = tuple(dead(row) if place in gone else row for place, row in enumerate(made))
    run = TrainingRun(
        folder=Path(folder), name=name, framework="trl", reward_name=name,
        reward_hash="sha256:" + "ab" * 32, rubric="safety 1.0", rubric_hash="sha256:" + "cd" * 32,
        judge="local", fingerprint="sha256:" + "ef" * 32, judge_fingerprint="", threshold=0.5,
        judged="final_answer", propositions=propositions,
        question_hashes=dict.fromkeys(propositions, "sha256:00"), question_texts={}, steps=steps,
        classes=dict.fromkeys(behaviors, classes), is_centered=False, certificates={},
        alarms=made_alarms(n_steps) if alarms else (),
        paying={behaviors[0]: propositions[:3]}, created="2026-03-01T10:00:00+00:00",
        versions={"voirdire": "0.1.0"},
    )  # fmt: skip
    return replace(run, **changes)
