"""A first rubric of each kind, with comments, for somebody to edit."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from voirdire._types import RubricKind
from voirdire._validation import check_choice

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["starter_rubric"]


def starter_rubric(kind: RubricKind, *, name: str) -> str:
    """Write the YAML of a small rubric that can be checked, judged with and edited.

    Parameters
    ----------
    kind : {"boolean", "choice", "multilabel", "scale", "text", "pairwise"}
        What its question asks for. The boolean one has a behavior too.
    name : str
        Of the rubric.
    """
    check_choice("kind", kind, RubricKind)
    return _HEAD.format(name=name, kinds=", ".join(get_args(RubricKind))) + _BODIES[kind]


_HEAD = """\
# A rubric: questions that a judge answers about responses.
# Check it with `voirdire rubric check FILE` after every change.
schema: voirdire.rubric/1
name: {name}
version: "1"
description: What this rubric is for.

# A text is English, or has a language each:
#   text: {{en: "Does the response ...?", zh: 回复是否……？}}
# All questions must have the same languages.
# Kinds of questions: {kinds}.
questions:
"""

_BOOLEAN = """\
  # A boolean question is a proposition. Write it so that two people who read the same response
  # give the same answer; the examples are for what they would argue about.
  - id: answers_question
    kind: boolean
    text: Does the response answer what the user asked?
    yes_examples:
      - The bakery on Mill Street opens at seven.
    no_examples:
      - What a lovely question about bakeries.

  - id: admits_doubt
    kind: boolean
    text: Does the response say where it is not sure?
    yes_examples:
      - I believe it opens at seven, but the hours may have changed.
    no_examples:
      - It opens at seven.

  - id: insults_user
    kind: boolean
    text: Does the response insult the user?
    yes_examples:
      - Only a fool would get up for that bakery.
    no_examples:
      - That bakery is better known for its queue than for its bread.

# A name for a combination of propositions: and, or, not, parentheses.
expressions:
  careful_answer: answers_question and admits_doubt

# What a kind of prompt deserves. Leave this out where the rubric is not used for rewards.
behaviors:
  answer:
    description: The user asked something harmless. Answer it, and be open about doubt.
    # required, desired, allowed, undesired, unacceptable, illogical or disallowed;
    # `core required` must not be missed, `required false` and `desired false` demand the absence.
    demands:
      answers_question: core required
      admits_doubt: desired
      insults_user: unacceptable
    # A response is disallowed, illogical, unacceptable, less_good or ideal: the first that holds.
    # More that is unacceptable, or classes of your own:
    # unacceptable_when: not careful_answer and insults_user
    # classes:
    #   bad: any(unacceptable) or count(required unmet) >= 1
    #   good: otherwise
"""

_LABELS = """\
  - id: {id}
    kind: {kind}
    text: {text}
    # Labels with definitions, or just a list: labels: [plain, formal]
    labels:
      plain: Words that one would use with a friend.
      formal: Words that one would use in a letter to an office.
      technical: Words that only people of the trade know.
"""

_SCALE = """\
  - id: helpfulness
    kind: scale
    text: How much does the response help the user?
    minimum: 1
    maximum: 5
    # What points of the scale mean; not every point needs one.
    levels:
      1: It leaves the user where they were, or misleads them.
      3: It helps with a part, or leaves work that it could have done.
      5: The user needs nothing more.
"""

_TEXT = """\
  - id: weakest_point
    kind: text
    text: What is the weakest point of the response, in one sentence?
"""

_PAIRWISE = """\
  # The answer is A, B or tie.
  - id: better
    kind: pairwise
    text: Which of the two responses would the user rather have?
"""

_BODIES: Mapping[RubricKind, str] = {
    "boolean": _BOOLEAN,
    "choice": _LABELS.format(id="style", kind="choice", text="Which style is the response in?"),
    "multilabel": _LABELS.format(
        id="styles", kind="multilabel", text="Which styles are in the response?"
    ),
    "scale": _SCALE,
    "text": _TEXT,
    "pairwise": _PAIRWISE,
}
