"""Judges of whom everything is known: the reply about each item is given, each request kept."""

from asked_models import shown_item
from voirdire.judging import LlmJudge, judge_items
from voirdire.models import Capabilities
from voirdire.records import Item
from voirdire.rubrics import Rubric
from voirdire.testing import ScriptedModel


class OneForm(ScriptedModel):
    """A scripted model that knows one form of reply, and keeps what it was asked."""

    def __init__(self, answer, *, form="json_schema"):
        super().__init__(self._keep)
        self.requests = []
        self._say, self._form = answer, form

    def _keep(self, request):
        self.requests.append(request)
        return self._say(request)

    @property
    def capabilities(self):
        return Capabilities(forms=(self._form,), top_logprobs=20)


def rubric_of(*questions):
    return Rubric(name="asked", version="1", questions=questions)


def judged(replies, *questions, form="json_schema", probability="stated"):
    """Judge one item per reply, and give by item what was answered to each question.

    An answer is a value, or a `Failure`; `masses_of` says more of the same batch.
    """
    return answers_of(batch_of(replies, *questions, form=form, probability=probability))


def batch_of(replies, *questions, form="json_schema", probability="stated"):
    """Judge one item per reply; a reply is a text, a `Reply` or an error of a model."""
    items = [Item(id=f"i{n}", response=str(n), other=str(n)) for n in range(len(replies))]
    judge = LlmJudge(
        model=OneForm(lambda request: replies[_number_in(request)], form=form),
        probability=probability,
        n_samples=2,
        max_attempts=1,
        keep_going=True,
    )
    (batch,) = judge_items(items, judge, rubric=rubric_of(*questions))
    return batch


def answers_of(batch):
    """Give by item a mapping of question to answer, a `Failure` where there is none."""
    found = []
    for row in range(len(batch.items)):
        answers = {
            name: batch.failures.get((row, column), float(batch.probabilities[row, column]))
            for column, name in enumerate(batch.questions)
        }
        for name, values in batch.details.labels.items():
            answers[name] = batch.details.label_failures.get((row, name), values[row])
        found.append(answers)
    return found


def _number_in(request):
    shown = shown_item(request)
    return int(shown.get("response", shown.get("response_a")))
