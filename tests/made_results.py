"""Real results that are no examination: gold labels, rates, power, and a certificate."""

import functools
import warnings

import numpy as np
import polars as pl

from voirdire.errors import DegenerateDataWarning
from voirdire.io import read_labels
from voirdire.stats import power
from voirdire.studies import certify, check_certificate, examine, examine_gold, rate


@functools.cache
def made_gold(judge="mine", questions=("apologises", "refuses")):
    """Measure a judge whose probabilities are too high; of the second question little is true."""
    rng = np.random.default_rng(3)
    gold, judged = [], []
    for question, share in zip(questions, (0.35, 0.05), strict=False):
        for item in range(120):
            true = bool(rng.random() < share)
            stated = float(np.clip((0.8 if true else 0.35) + rng.normal() * 0.2, 0.01, 0.99))
            gold.append({"question": question, "item": f"i{item}", "label": true})
            row = {"question": question, "item": f"i{item}", "judge": judge}
            judged.append(row | {"probability": stated, "threshold": 0.5})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        return examine_gold(judges=pl.DataFrame(judged), gold=pl.DataFrame(gold), kind="boolean")


@functools.cache
def made_rates(judge="gpt", question="label", groups=("old", "new"), n_labelled=120):
    """Estimate the rate of 600 items of two models, of which people labelled some."""
    rng = np.random.default_rng(1)
    true = rng.random(600) < np.where(np.arange(600) % 2 == 0, 0.1, 0.5)
    said = np.where(rng.random(600) < 0.9, true, ~true)
    items = [f"i{number}" for number in range(600)]
    verdicts = {"item": items, "judge": judge, "question": question, "label": said}
    labels = {"item": items[:n_labelled], "annotator": "ann", "question": question,
              "label": true[:n_labelled]}  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        return rate(
            judges=pl.DataFrame(verdicts),
            humans=pl.DataFrame(labels),
            by="model" if groups else None,
            metadata=pl.DataFrame({"item": items, "model": [*groups] * 300}) if groups else None,
        )


@functools.cache
def made_power(judge_noise=0.2):
    return power(human_noise=0.2, judge_noise=judge_noise, n_items=[20, 50, 100],
                 n_annotators=[3, 5], epsilon=[0.1, 0.2], n_simulations=200)  # fmt: skip


def made_labels(names=("good", "poor"), question="polite", *, shift=0):
    """Read labels of three annotators, a judge like them and one that says the contrary."""
    rng = np.random.default_rng(2)
    true = rng.random(81) < 0.4
    people = {name: np.where(rng.random(81) < 0.9, true, ~true) for name in ("ann", "bob", "eve")}
    machines = {names[0]: np.roll(true, shift), names[1]: ~true}

    def table(raters, role):
        rows = [
            (f"i{item}", bool(label), name, question)
            for name, labels in raters.items()
            for item, label in enumerate(labels[:80])
        ]
        frame = pl.DataFrame(rows, schema=["item", "label", role, "question"], orient="row")
        return read_labels(frame, role=role, kind="boolean")

    return table(people, "annotator"), table(machines, "judge")


@functools.cache
def made_certificate(names=("good", "poor"), question="polite", population="English chats"):
    people, machines = made_labels(names, question)
    found = examine(humans=people, judges=machines)
    return certify(found, humans=people, judges=machines, population=population)


@functools.cache
def made_changes():
    """Check the certificate on labels of which those of the good judge moved by an item."""
    people, machines = made_labels(shift=1)
    return check_certificate(made_certificate(), humans=people, judges=machines)
