"""Models that are asked in process, and what they were shown."""

import json
import re
from collections import Counter

from voirdire.errors import ModelCallError
from voirdire.records import Item, Message
from voirdire.testing import ScriptedModel


class Asked:
    """A scripted model that counts what it is asked, by the response that it sees."""

    def __init__(self, answer, **settings):
        self.seen = Counter()
        self.model = ScriptedModel(self._answer, **settings)
        self._chosen = answer

    def _answer(self, request):
        shown = shown_item(request)
        self.seen[shown.get("response", shown.get("response_a"))] += 1
        given = self._chosen(shown)
        return given if isinstance(given, ModelCallError | str) else dict(given)


def shown_item(request):
    """Read the item back out of a request: the JSON between the two lines of the fence."""
    text = request.messages[-1].content
    first, last = re.findall(r"^-----(?:BEGIN|END) ITEM \w+-----$", text, re.MULTILINE)
    return json.loads(text.partition(first)[2].partition(last)[0])


def make_items(n_items, *, behavior=None):
    return [
        Item(
            id=f"i{number}",
            prompt=(Message(role="user", content=f"question {number % 7}"),),
            response=f"answer {number}",
            behavior=behavior,
        )
        for number in range(n_items)
    ]
