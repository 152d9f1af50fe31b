"""Labels of a judge, annotators and gold with the outcomes that a test wants."""

import numpy as np


def labels_with(*annotators, gold=None):
    """Arguments of `stats.alt_test` for one judge; each annotator has items of their own.

    An outcome is 0 where the judge wins, 1 where both are right and 2 where the annotator wins.
    `gold` names the true labels of all items, one annotator's after the other's.
    """
    outcomes = np.concatenate([np.asarray(own, dtype=int) for own in annotators])
    owner = np.repeat(np.arange(len(annotators)), [len(own) for own in annotators])
    truth = np.zeros(len(outcomes), dtype=int) if gold is None else np.asarray(gold)
    wrong = (truth + 1) % (truth.max() + 2)
    humans = np.full((len(outcomes), len(annotators)), -1)
    humans[np.arange(len(outcomes)), owner] = np.where(outcomes >= 1, truth, wrong)
    return {"judges": np.where(outcomes <= 1, truth, wrong), "humans": humans, "gold": truth}


def outcomes_of(table):
    """Outcomes of a table (wins of the judge, ties, wins of the annotator)."""
    return np.repeat([0, 1, 2], table)
