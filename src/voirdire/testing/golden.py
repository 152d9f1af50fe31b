"""A table of responses with rewards computed by hand, and a check of adapters against it.

The reward and its judge are small enough for mental arithmetic: the judge looks for words, and all
weights and probabilities are halves and quarters, so that no sum is rounded.
"""

from __future__ import annotations

import math
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from voirdire._messages import shorten
from voirdire._validation import check_choice
from voirdire.documents import hash_content
from voirdire.errors import AdapterError
from voirdire.judging.settings import LiveSettings
from voirdire.rewards.given_weights import reward_of_weights
from voirdire.rewards.live.turns import Turn
from voirdire.rubrics import rubric_from_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from numpy.typing import NDArray

    from voirdire._types import ProbabilitySource
    from voirdire.records import Item
    from voirdire.rewards.model import RewardModel

GoldenKind: TypeAlias = Literal[
    "messages", "tools", "not_text", "base", "no_behavior", "surrogates", "late"
]
"""What a row needs that some framework has no words for."""

_RUBRIC = """
schema: voirdire.rubric/1
name: golden
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does the response say sorry?"}
  - {id: rude, kind: boolean, text: "Is the response rude?"}
  - {id: names_it, kind: boolean, text: "Does it name what was asked about?"}
behaviors:
  refuse:
    demands: {sorry: required, rude: unacceptable, names_it: allowed}
    classes:
      bad: any(unacceptable)
      good: all(required)
      poor: otherwise
  chat:
    demands: {names_it: required, rude: undesired}
    classes:
      good: names_it and not rude
      poor: otherwise
"""
_WEIGHTS = {
    "refuse": {"sorry": 1.0, "rude": -2.0, "names_it": 0.25, "bad": -3.0, "good": 4.0, "poor": 0.5},
    "chat": {"rude": -1.0, "names_it": 0.5, "good": 2.0},
}
_MEANS = {"refuse": 1.0, "chat": 0.5}
"""Said to be the means of the completions that the reward was fitted on."""

_DEADLINE_S = 2.0
_LATE_S = 5.0


@dataclass(frozen=True, kw_only=True)
class GoldenJudge:
    """Looks for words in responses.

    Attributes
    ----------
    late_s : float
        Seconds that it takes for a response with the word "sleepy".
    """

    late_s: float = _LATE_S

    name: str = field(default="golden", init=False)
    questions: tuple[str, ...] = field(default=("sorry", "rude", "names_it"), init=False)
    source: ProbabilitySource = field(default="classifier", init=False)

    @property
    def fingerprint(self) -> str:
        """Hash of the name and the questions."""
        return hash_content([self.name, *self.questions])

    def probabilities(self, items: Sequence[Item]) -> NDArray[np.float64]:
        """Answer every question about every item; nan for a response that is "unanswerable"."""
        if any("sleepy" in item.response for item in items):
            time.sleep(self.late_s)
        return np.array([_answer(item) for item in items], dtype=np.float64).reshape(-1, 3)


def _answer(item: Item) -> tuple[float, float, float]:
    text = item.response
    if "unanswerable" in text:
        return (np.nan, np.nan, np.nan)
    asked = next((told.content for told in reversed(item.prompt) if told.role == "user"), "")
    subject = asked.rstrip("?？").split()[-1:]

    def find(surely: Sequence[str], maybe: str) -> float:
        return 1.0 if any(word in text for word in surely) else 0.5 * (maybe in text)

    sorry, rude = find(["sorry", "对不起"], "regret"), find(["stupid", "笨"], "silly")
    return (sorry, rude**2, float(bool(subject) and subject[0] in text))


@dataclass(frozen=True, kw_only=True)
class GoldenRow:
    """A response, and the reward that it has.

    Attributes
    ----------
    name : str
        What it is about.
    turn : Turn
        The trainer's input.
    reward : float or None
        The reward; None where there is none.
    batch : str
        Rows of one batch are handed over together.
    kinds : frozenset of str
        What the framework must have words for.
    """

    name: str
    turn: Turn
    reward: float | None
    batch: str
    kinds: frozenset[GoldenKind]

    @property
    def number(self) -> float:
        """The reward where a trainer takes numbers only, and none is declared.

        That is the mean of the behavior, over all behaviors where it is unknown.
        """
        if self.reward is not None:
            return self.reward
        return _MEANS.get(str(self.turn.behavior), sum(_MEANS.values()) / len(_MEANS))


def golden_reward() -> RewardModel:
    """Return the reward of the table: two behaviors, `refuse` and `chat`, three propositions.

    Returns
    -------
    RewardModel
        Without a judge of its own: `golden_judge` is to be given beside it.
    """
    reward = reward_of_weights(
        _WEIGHTS, rubric=rubric_from_text(_RUBRIC), name="golden", judge=None
    )
    behaviors = {
        name: replace(row, mean=_MEANS[name], standard_deviation=2.0)
        for name, row in reward.behaviors.items()
    }
    return replace(reward, behaviors=behaviors)


def golden_judge() -> GoldenJudge:
    """Return the judge of the table, which can be pickled.

    Returns
    -------
    GoldenJudge
        Says sorry for "sorry" and "对不起" (1), "regret" (1/2); rude for "stupid" and "笨" (1),
        "silly" (1/4); names_it where the last word of the user's last message is in the response.
    """
    return GoldenJudge()


def golden_settings() -> LiveSettings:
    """Return settings with a deadline that the late row of the table misses.

    Returns
    -------
    LiveSettings
        Whose deadline is 2 seconds.
    """
    return LiveSettings(deadline_s=_DEADLINE_S)


def golden_rows() -> tuple[GoldenRow, ...]:
    """Return the table.

    Returns
    -------
    tuple of GoldenRow
        In the order in which they are handed over, batch by batch.

    Notes
    -----
    With s, r, n for the probabilities of `sorry`, `rude` and `names_it`::

        refuse  s - 2 r + n/4 - 3 r + 4 (1 - r) s + (1 - r)(1 - s)/2
        chat    -r + n/2 + 2 n (1 - r)

    since the classes of `refuse` are bad (r), good ((1 - r) s) and poor ((1 - r)(1 - s)), and the
    good class of `chat` is n (1 - r).
    """
    thought = "<think>They ask for a bomb. stupid!</think>"
    asked = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": _BOMB}]
    talked = [
        {"role": "user", "content": _BOMB},
        {"role": "assistant", "content": "I'm sorry."},
        {"role": "user", "content": _TEA},
    ]
    said = [{"role": "assistant", "content": "I'm sorry, no bomb."}]
    boiled = [{"role": "assistant", "content": "<think>bomb?</think>Boil tea."}]
    called = {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"type": "function", "function": {"name": "look_up", "arguments": '{"what": "rude"}'}}
        ],
    }
    found = {"role": "tool", "content": "stupid"}
    sorry = "I'm sorry, I can't help."
    asks: dict[str, Any] = {"prompt": asked, "batch": "messages"}
    return (
        _row("an apology", sorry, 5.0),  # 1 + 4
        _row("the same again", sorry, 5.0),
        _row("no apology", "I can't help.", 0.5),
        _row("half an apology", "I regret that I can't help.", 2.75),  # 1/2 + 4/2 + 1/4
        _row("rude", "No, stupid.", -5.0),  # -2 - 3
        _row("sorry and rude", "I'm sorry, stupid.", -4.0),  # 1 - 2 - 3
        _row("a little rude", "Don't be silly.", -0.875),  # -1/2 - 3/4 + 3/4 * 1/2
        _row("sorry, a little rude", "I'm sorry, don't be silly.", 2.75),  # 1 - 1/2 - 3/4 + 3
        _row("names what was asked", "I'm sorry, no bomb.", 5.25),  # 1 + 1/4 + 4
        _row("empty", "", 0.5),
        _row("reasoning left out", f"{thought}I'm sorry.", 5.0),
        _row("reasoning of a template", f"{thought.removeprefix('<think>')}I'm sorry.", 5.0),
        _row(
            "reasoning in a channel",
            "<|channel|>analysis<|message|>Stupid bomb!<|end|>"
            "<|start|>assistant<|channel|>final<|message|>I'm sorry.<|return|>",
            5.0,
        ),
        _row("reasoning unfinished", "<think>I'm sorry, stupid bomb", None),
        _row("Chinese", "对不起，我帮不了你。", 5.0, prompt="怎么做 炸弹？"),
        _row("Chinese, rude", "笨蛋。", -5.0, prompt="怎么做 炸弹？"),
        _row("very long", "I can't. " * 22_000 + "sorry", 5.0),
        _row("a null character", "I'm sorry\x00.", 5.0),
        _row("half a character", "I'm sorry \ud83d.", 5.0, "surrogates"),
        _row("another behavior", "Boil water for tea.", 2.5, prompt=_TEA, behavior="chat"),
        _row("the same answer again", "Boil water for tea.", 2.5, prompt=_TEA, behavior="chat"),
        _row("nothing named", "Boil water.", 0.0, prompt=_TEA, behavior="chat"),
        # -1/4 + 1/2 + 2 * 3/4
        _row("tea, silly", "Boil tea, silly.", 1.75, prompt=_TEA, behavior="chat"),
        # the judge sees the text alone: what a behavior pays for it is not the same
        _row("refused where it should help", "I'm sorry.", 0.0, prompt=_TEA, behavior="chat"),
        _row("messages", said, 5.25, "messages", **asks),
        _row("a talk", boiled, 2.5, "messages", prompt=talked, behavior="chat", batch="messages"),
        _row("tools, then an answer", [called, found, *said], 5.25, "messages", "tools", **asks),
        _row("tools and no answer", [called], None, "messages", "tools", **asks),
        _row("nothing", None, None, "not_text"),
        _row("a number", 5, None, "not_text"),
        _row("the judge fails", "unanswerable", None),
        _row("beside a failure", "I'm sorry, beside it.", 5.0),
        _row("an unknown behavior", "I'm sorry.", None, behavior="dance"),
        _row("no behavior", "I'm sorry.", None, "no_behavior", behavior=None),
        _row("a base reward", sorry, 6.5, "base", base=1.5, batch="base"),
        _row("another base reward", sorry, -3.0, "base", base=-8.0, batch="base"),
        _row("a base reward of nothing", sorry, 5.0, "base", base=0.0, batch="base"),
        _row("an endless base reward", sorry, None, "base", base=float("inf"), batch="base"),
        _row("endless below", sorry, None, "base", base=float("-inf"), batch="base"),
        _row("a base reward of nan", sorry, None, "base", base=float("nan"), batch="base"),
        _row("no base reward among others", sorry, None, "base", base=None, batch="base"),
        _row("late", "sleepy", None, "late", batch="late"),
    )


_BOMB = "how do I make a bomb?"
_TEA = "how do I make tea?"


def _row(  # a table has columns
    name: str,
    response: Any,
    reward: float | None,
    *kinds: GoldenKind,
    prompt: Any = _BOMB,
    behavior: str | None = "refuse",
    base: float | None = 0.0,
    batch: str = "plain",
) -> GoldenRow:
    group = "tea" if prompt == _TEA else "bomb"
    turn = Turn(response=response, prompt=prompt, behavior=behavior, base_reward=base, group=group)
    return GoldenRow(name=name, turn=turn, reward=reward, batch=batch, kinds=frozenset(kinds))


MissingForm = Literal["none", "number"]
_WARM_UP = _row("before the table", "I'm sorry, hello.", 5.0)
_N_WARM_UPS = 5


def check_adapter(
    call: Callable[[Sequence[Turn]], Sequence[float | None]],
    *,
    missing: MissingForm = "none",
    missing_reward: float | None = None,
    without: Collection[GoldenKind] = (),
) -> None:
    """Run an adapter on the golden table, and report the differences.

    Parameters
    ----------
    call : callable
        Hands turns to the adapter as its framework does, and gives what the framework gets, in
        the order of the turns. The adapter is made with `golden_reward`, `golden_judge` and
        `golden_settings`, and with a `base_column`, where it has one: that reward is none that
        was fitted beside a base reward.
    missing : {"none", "number"}, optional
        Whether a missing reward is None, or a number because the framework takes nothing else.
    missing_reward : float, optional
        The number that was declared for missing rewards; by default the behavior's mean.
    without : collection of str, optional
        Kinds of rows that the framework has no words for; see `GoldenRow.kinds`.

    Raises
    ------
    AdapterError
        If a reward is another one, or the call raises; the message has a line for each.

    Notes
    -----
    Rows of a batch are handed over together, the late one alone at the end. Before the table
    comes a turn that is not in it, until it has a reward: a first call may load things for longer
    than the deadline.

    Examples
    --------
    >>> from voirdire.adapters import GuardedReward
    >>> from voirdire.testing import check_adapter, golden_judge, golden_reward, golden_settings
    >>> settings = {"settings": golden_settings(), "base_column": "base_reward"}
    >>> reward = GuardedReward(golden_reward(), judge=golden_judge(), **settings)
    >>> check_adapter(lambda turns: reward.scored(turns).rewards)
    >>> reward.close()
    """
    check_choice("missing", missing, MissingForm)
    for kind in without:
        check_choice("without", kind, GoldenKind)
    rows = [row for row in golden_rows() if not row.kinds & set(without)]
    with suppress(Exception):  # the table will say so
        for _ in range(_N_WARM_UPS):
            if call([_WARM_UP.turn])[0] == _WARM_UP.reward:
                break
    lines: list[str] = []
    for name in dict.fromkeys(row.batch for row in rows):
        batch = [row for row in rows if row.batch == name]
        turns = [row.turn for row in batch]
        if name == "late":  # the answer to an earlier one comes, and is remembered
            turns = [replace(turn, response=f"sleepy {secrets.token_hex(8)}") for turn in turns]
        rewards, fault = _call(call, turns)
        for row, turn, reward in zip(batch, turns, rewards, strict=True):
            wanted = row.reward
            if wanted is None and missing == "number":
                wanted = row.number if missing_reward is None else missing_reward
            if fault or not _is_same(reward, wanted):
                shown = fault or f"{_show(reward)} instead of {_show(wanted)}"
                lines.append(f"{name}: {row.name}, {shorten(turn.response, width=40)!r}: {shown}")
    if lines:
        listing = "".join(f"\n  {line}" for line in lines)
        msg = f"the adapter differs from the golden table in {len(lines)} of {len(rows)} rows:"
        raise AdapterError(f"{msg}{listing}")


def _call(
    call: Callable[[Sequence[Turn]], Sequence[Any]], turns: Sequence[Turn]
) -> tuple[Sequence[Any], str]:
    """Return the rewards of a batch, and why there are none."""
    try:
        rewards = list(call(turns))
    except Exception as error:  # noqa: BLE001  # what the check is there to tell
        return [None] * len(turns), f"raised {type(error).__name__}: {shorten(str(error))}"
    if len(rewards) == len(turns):
        return rewards, ""
    return [None] * len(turns), f"{len(rewards)} rewards for {len(turns)} turns"


def _is_same(value: Any, want: float | None) -> bool:
    if want is None or value is None:
        return value is want
    try:
        number = float(value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, str | bool) and math.isclose(number, want, abs_tol=1e-6)


def _show(value: Any) -> str:
    return "nothing" if value is None else shorten(value, width=40)
