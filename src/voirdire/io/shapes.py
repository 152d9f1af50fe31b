"""Recognises the shape of a row by its keys, and reads a row of that shape.

A key whose value is null counts as absent. The first line that fits decides:

==============================================  ====================================
keys                                            read as
==============================================  ====================================
`response` and `other`                          pair: one item with two responses
`response` or `completion`                      prompt and response
`ranked`                                        completions of one prompt, best first; a list
                                                within the list is a tie
`response_a` or `response_b`                    pair
`chosen` or `rejected`                          preference: one item for each, or a pair
`messages` or `conversations`                   chat that ends in the response; prompt and
                                                response where it is an object of these
`output` or `answer`                            prompt and response
those of a public data set (`_PUBLIC`)          its responses to one prompt
`transcript`                                    chat in text, as ``Human:`` and ``Assistant:``
==============================================  ====================================
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias

from msgspec.structs import replace as replace_in

from voirdire._messages import list_names, shorten
from voirdire.errors import InputError
from voirdire.io.files import RowError, decode_json, got
from voirdire.io.messages import (
    Draft,
    ParsedMessage,
    is_message,
    make_prompt,
    parse_messages,
    prompt_of_text,
    select_text_answer,
    select_turn_answer,
    split_turn,
    turn_start,
)
from voirdire.io.pairs import side_of
from voirdire.io.values import is_unnamed
from voirdire.records import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from voirdire._types import Judged
    from voirdire.io.declared import ItemReading

ShapeName: TypeAlias = Literal[
    "response",
    "pair",
    "preference",
    "preferred pair",
    "ranked",
    "public",
    "chat",
    "none",
]

ID_COLUMNS = ("id", "item")
"""Keys of an item's id; the first with a value is used."""

_CHATS = ("messages", "conversations")
_RESPONSES = ("response", "response", "completion")
"""Names of a response: ours, then others."""
_PROMPTS = ("prompt", "question", "instruction", "input")
_PREFERENCES = ("preference", "preferred pair")
_PUBLIC: tuple[tuple[str, str, str, str, Any], ...] = (
    # prompt, two responses, which is better, what it says where that is the first, and the second
    ("prompt", "response_0", "response_1", "better_response_id", ("0", "1")),  # PKU-SafeRLHF
    ("prompt", "response_1", "response_2", "preference_strength", ("-1 -2 -3", "1 2 3")),
    ("context", "response1", "response2", "overall_preference", ("-1 -2 -3", "1 2 3")),
    ("history", "human_ref_A", "human_ref_B", "labels", ("1", "0")),  # SHP
    ("", "conversation_a", "conversation_b", "winner", ("model_a", "model_b")),  # Chatbot Arena
    # prompt, a list of objects, the response in each, a number: 1 with the least best, -1 the most
    ("instruction", "completions", "response", "overall_score", -1),  # UltraFeedback
    ("prompt", "answers", "answer", "rank", 1),  # Nectar
)
"""Layouts of public data sets; the second and third are those of HelpSteer2 and HelpSteer3."""
_TURN = re.compile(r"(?:^|\n\n)\s*(Human|Assistant):")
_NAME = re.compile(r"[\w.:/@+-]{1,80}", re.ASCII)
"""What a column `system` holds where it names a model."""
_RATERS = {"annotator", "judge", "rater"}
_MAX_SHAPES = 1_000
_MAX_NAMES_SHOWN = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class RowShape:
    """The keys of the parts of a row; None for a part that is missing.

    Attributes
    ----------
    name : str
        The shape.
    judged : str
        Which part of its responses is judged.
    body : str or None
        The key of the response or the messages, or of the first of two responses; where there is no
        response, the key that was declared for it.
    second : str or None
        The key of the second response: of a pair, or the rejected one.
    prompt : str or None
        The key of the prompt.
    prompt_rest : str or None
        The key of the text that continues the prompt: `input` beside `instruction`.
    chat : str or None
        The key, one of these, under which text is messages as JSON.
    layout : tuple
        The line of `_PUBLIC`.
    system, context : str or None
        The keys of what stands before the prompt.
    before : tuple of str
        The keys of everything before the response.
    id, behavior, group, cluster : str or None
        Further keys.
    metadata : tuple of str
        All other keys.
    """

    name: ShapeName
    judged: Judged
    body: str | None
    second: str | None
    prompt: str | None
    prompt_rest: str | None
    chat: str | None
    layout: tuple[Any, ...]
    system: str | None
    context: str | None
    before: tuple[str, ...]
    id: str | None
    behavior: str | None
    group: str | None
    cluster: str | None
    metadata: tuple[str, ...]


class ShapeFinder:
    """Finds the shapes of rows, once per set of keys."""

    def __init__(self, reading: ItemReading, *, source: str, is_tabular: bool) -> None:
        self.reading = reading
        self.columns = dict(reading.columns or {})
        self.source = source
        self.is_tabular = is_tabular
        given = self.columns.get("messages")
        self.chat_columns = _CHATS if given is None else (given,)
        self.unseen = {*self.columns.values()}
        # a hostile file may have different keys in every row
        self.shape: Callable[[tuple[str, ...]], RowShape] = lru_cache(_MAX_SHAPES)(self._find)
        content = (
            "prompt", "response", "other", "messages", "chosen", "rejected", "ranked", "system",
            "context",
        )  # fmt: skip
        # A column that is declared for one part is not used for another.
        self._taken = {self.columns[name] for name in content if name in self.columns}

    def check_header(self, header: Sequence[str]) -> None:
        """Refuse a table whose columns can give no item at all."""
        self.unseen -= set(header)
        self.check_seen(header)
        if not self.has_response(tuple(header)):
            self._refuse(header, missing="response", way_out=self.way_out(header))

    def has_response(self, keys: tuple[str, ...]) -> bool:
        """Return whether rows with these keys may become items."""
        return self.shape(keys).name != "none"

    def check_seen(self, header: Sequence[str]) -> None:
        """Refuse a declared column that does not exist; the message shows `header`."""
        if self.unseen:
            self._refuse(header, missing=min(self.unseen), way_out="Correct `columns`.")

    def way_out(self, header: Sequence[str]) -> str:
        """Return what to do about columns that give no item."""
        if {"item", "label"} <= set(header) or not _RATERS.isdisjoint(header):
            return "This looks like labels: name the file of the responses that they are about."
        return (
            'Name it with columns={"response": ...}. In Python `make_item=` may be a function from '
            'a row to {"prompt": ..., "response": ...}.'
        )

    def shown(self, header: Sequence[str]) -> str:
        """List the first columns by name."""
        return list_names([shorten(repr(column)) for column in header], most=_MAX_NAMES_SHOWN)

    def _refuse(self, header: Sequence[str], *, missing: str, way_out: str) -> NoReturn:
        message = (
            f"{self.source}: column `{shorten(missing)}` must exist, "
            f"got columns {self.shown(header)}. {way_out}"
        )
        raise InputError(message)

    def _key(self, keys: tuple[str, ...], concept: str, *ours: str) -> str | None:
        theirs = self.columns.get(concept)
        if theirs is not None:
            return theirs if theirs in keys else None
        return next((name for name in ours if name in keys and name not in self._taken), None)

    def _find(self, keys: tuple[str, ...]) -> RowShape:
        """Find the shape of a row with these keys, nulls left out."""
        prompt = self._key(keys, "prompt", *_PROMPTS)
        chat = self._key(keys, "messages", *_CHATS)
        ranked = self._key(keys, "ranked", "ranked")
        # beside a response only a declared column is a ranked list
        is_alone = "ranked" in self.columns or self._key(keys, *_RESPONSES) is None
        name, body, second = self._responses(keys, chat=chat)
        if ranked is not None and is_alone:
            name, body, second = "ranked", ranked, None
        layout: tuple[Any, ...] = ()
        if name == "none" and body is None:  # no response was declared
            needed = (
                (line, {*line[:2], *([] if isinstance(line[4], int) else line[2:3])} - {""})
                for line in _PUBLIC
            )
            layout = next((line for line, own in needed if own <= {*keys}), ())
            if layout:
                name = "public"
            elif "transcript" in keys:
                name, body = "chat", "transcript"
        order = self.columns.get("preferred")
        if name == "pair" and {body, second, order} <= {*keys} and not self.reading.pairs:
            name, layout = "public", (prompt or "", body, second, order, ("A", "B"))
        rest = None
        if name not in ("response", "pair", *_PREFERENCES):
            prompt = None
        elif prompt is not None:
            is_ours = prompt == "instruction" and "prompt" not in self.columns
            rest = self._key(keys, "", "input") if is_ours else None
            chat = body if chat == body else None
        elif chat is not None and chat != body:  # else the prompt is all but the last turn
            prompt = chat
        places = {
            "body": body, "second": second,
            "prompt": prompt, "prompt_rest": rest, "chat": chat,
            "system": self._key(keys, "system", "system", "system_prompt"),
            "context": self._key(keys, "context", "context"),
            "id": self._key(keys, "id", *ID_COLUMNS),
            "behavior": self._key(keys, "behavior", "behavior"),
            "group": self._key(keys, "group", "group"),
            "cluster": self._key(keys, "cluster", "cluster"),
        }  # fmt: skip
        used = set(places.values()) - {places["system"], places["context"]}
        metadata = tuple(
            key for key in keys if key not in used and not (self.is_tabular and is_unnamed(key))
        )
        parts: Any = (places[part] for part in ("prompt", "prompt_rest", "system", "context"))
        return RowShape(
            name=name,
            judged=self.reading.judged,
            before=tuple(key for key in parts if key is not None),
            metadata=metadata,
            layout=layout,
            **places,
        )

    def _responses(
        self, keys: tuple[str, ...], *, chat: str | None
    ) -> tuple[ShapeName, str | None, str | None]:
        """Return the shape, and the keys of one response or of two, one of which may be missing."""
        given = self.columns
        response = self._key(keys, *_RESPONSES)
        is_free = response is None and "response" not in given
        output = self._key(keys, "", "output", "answer") if is_free else None
        if "other" in given and not ("preferred" in given and given["other"] not in keys):
            first = self._key(keys, "", "response_a") or output or chat if is_free else response
            if first is not None:
                return "pair", first, given["other"]
        elif response == "response" and self._key(keys, "", "other"):
            return "pair", response, "other"
        elif is_free and self._key(keys, "", "response_a", "response_b"):
            return "pair", "response_a", "response_b"
        if response is not None:
            return "response", response, None
        if self._key(keys, "chosen", "chosen") or self._key(keys, "rejected", "rejected"):
            kind: ShapeName = "preferred pair" if self.reading.pairs else "preference"
            return kind, given.get("chosen", "chosen"), given.get("rejected", "rejected")
        if chat is not None:
            return "chat", chat, None
        if output is not None:
            return "response", output, None
        return "none", given.get("response"), None


# Rows of several completions --------------------------------------------------------------------

_TWO = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class CompletionList:
    """A row with several completions of one prompt, with a row for each of them.

    Attributes
    ----------
    group : str
        Group of the completions of the row.
    rows : tuple of dict
        One for each completion.
    levels : tuple of float
        How good each is, the best with the least.
    """

    group: str
    rows: tuple[dict[str, Any], ...]
    levels: tuple[float, ...]


def read_completions(
    row: Mapping[str, Any],
    shape: RowShape,
    *,
    columns: Mapping[str, str],
    name: str,
    pairs: bool,
) -> CompletionList | None:
    """Read a row that holds several completions of one prompt; None for any other row.

    With `pairs` the two responses of a public layout are one row.

    Raises
    ------
    RowError
        If it does not hold them, or does not say in known words which is better.
    """
    response, other = columns.get("response", "response"), columns.get("other", "other")
    used, own = {shape.body or "", shape.second or ""}, {}
    if shape.name == "ranked":
        levels, entries = _read_ranked(row[shape.body or ""], shape.body or "", response=response)
    elif shape.name in _PREFERENCES:  # RewardBench 2 has two lists of texts
        sides = [row.get(shape.body or ""), row.get(shape.second or "")]
        if not all(
            side and isinstance(side, list) and set(map(type, side)) == {str} for side in sides
        ):
            return None
        entries = [{response: text} for side in sides for text in side or ()]
        levels = [level for level, side in enumerate(sides) for _ in side or ()]
    elif shape.name == "public":
        prompt, first, second, order, by = shape.layout
        used = {prompt, first, *([] if isinstance(by, int) else [second])}
        said = _read_transcript(row.get(prompt))
        if isinstance(said, list) and said[-1:] == [{"role": "assistant", "content": ""}]:
            said = said[:-1]  # where the response goes on
        own = {columns.get("prompt", "prompt"): said} if prompt else {}
        if isinstance(by, int):
            levels, entries = _read_list(row[first], shape.layout, response=response)
        else:
            entries = [{response: row[first]}, {response: row[second]}]
            if columns.get("preferred", order) != order:
                order, by = columns["preferred"], ("A", "B")
            levels = _levels_of_two(row, order, by, keys=(first, second))
            if pairs:
                entries, levels = [{response: row[first], other: row[second]}], [0]
    else:
        return None
    shared = {key: value for key, value in row.items() if key not in used} | own
    is_one = len(entries) == 1
    return CompletionList(
        group=name,
        rows=tuple(
            {**shared, **entry, columns.get("id", "id"): name if is_one else f"{name}:{number}"}
            for number, entry in enumerate(entries)
        ),
        levels=tuple(levels),
    )


def _read_ranked(
    ranked: Any, column: str, *, response: str
) -> tuple[list[float], list[dict[str, Any]]]:
    """Read a ranked list of at least two, best first; a list within it holds ties."""
    if not isinstance(ranked, list | tuple) or len(ranked) < _TWO:
        reason = f"a ranked list must hold at least two completions, got {got(ranked)}"
        raise RowError(reason, column=column)
    levels: list[float] = []
    entries = []
    for level, found in enumerate(ranked):
        is_list = isinstance(found, list | tuple)
        # a list of messages is one completion, any other one a tie
        is_one = not is_list or any(isinstance(x, dict) and is_message(x) for x in found)
        for entry in [found] if is_one else found:
            is_object = isinstance(entry, dict) and not is_message(entry)
            levels.append(level)
            entries.append(entry if is_object else {response: entry})
    return levels, entries


def _read_list(
    found: Any, layout: tuple[Any, ...], *, response: str
) -> tuple[list[float], list[dict[str, Any]]]:
    """Read objects with a response and a number that orders them."""
    _, column, text, order, sign = layout
    is_list = isinstance(found, list) and found
    if not is_list or not all(isinstance(x, dict) and text in x for x in found):
        reason = f"must be a list of objects with a `{text}`, got {got(found)}"
        raise RowError(reason, column=column)
    try:
        levels = [sign * float(entry[order]) for entry in found]
    except (KeyError, TypeError, ValueError):
        reason = f"each entry must have a number `{order}`, got {got(found)}"
        raise RowError(reason, column=column) from None
    rest = [{key: x for key, x in entry.items() if key != text} for entry in found]
    return levels, [own | {response: entry[text]} for own, entry in zip(rest, found, strict=True)]


def _levels_of_two(
    row: Mapping[str, Any], column: str, words: tuple[str, str], *, keys: tuple[str, str]
) -> list[float]:
    """Return 0 for the better of two responses and 1 for the other; 1 for both in a tie.

    The words A and B are also what votes say, the keys of the responses, or their last letters.
    """
    value = row.get(column)
    word = f"{value:g}" if isinstance(value, float) else f"{value}".strip()
    if words == ("A", "B"):
        ends = [key for key in keys if word in (key, key[-1])]
        word = words[keys.index(ends[0])] if ends else side_of(word) or word
    better = [word in known.split() for known in words]
    if not any(better) and value is not None and not (word in ("", "0") or word[:3] == "tie"):
        reason = f"must be one of {', '.join(' '.join(words).split())} or a tie, got {got(value)}"
        raise RowError(reason, column=column)
    return [1 - is_better for is_better in better]


def _read_transcript(value: Any) -> Any:
    """Return the messages of text as ``Human:`` and ``Assistant:``; any other value as it is."""
    if not isinstance(value, str) or not (start := _TURN.match(value)) or start[1] != "Human":
        return value
    _, *said = map(str.strip, _TURN.split(value))
    return [
        {"role": "user" if who == "Human" else "assistant", "content": text}
        for who, text in zip(said[::2], said[1::2], strict=True)
    ]


# Responses ------------------------------------------------------------------------------------


def drafts_of(row: dict[str, Any], shape: RowShape) -> list[Draft | RowError]:
    """Return every item of a row, or why it cannot be read.

    Raises
    ------
    RowError
        If the whole row is to be set aside.
    """
    drafts = _read_drafts(row, shape)
    if shape.system is None and shape.context is None:
        return drafts
    before: tuple[Message, ...] = ()
    for role, column in (("system", shape.system), ("context", shape.context)):
        value = row[column] if column else None
        if isinstance(value, list) and all(isinstance(part, str) for part in value):
            value = "\n\n".join(value)
        is_name = column == "system" and isinstance(value, str) and _NAME.fullmatch(value)
        if isinstance(value, str) and value.strip() and not is_name:
            before += (Message(role=role, content=value),)
        elif isinstance(value, list) and all(isinstance(x, dict) and is_message(x) for x in value):
            before += make_prompt(parse_messages(value, column=column or ""))
    return [
        draft if isinstance(draft, RowError) else replace_in(draft, prompt=before + draft.prompt)
        for draft in drafts
    ]


def _read_drafts(row: dict[str, Any], shape: RowShape) -> list[Draft | RowError]:
    column = shape.body or ""
    if shape.name == "none":
        raise RowError("no response: no column holds one", column=shape.body)
    if shape.name in _PREFERENCES and shape.prompt is None:
        both = [key for key in (shape.body, shape.second) if key in row]
        row = row | {key: _read_transcript(row[key]) for key in both if key}
    if shape.name == "preference":
        return _sides(row, shape)
    if shape.name in ("pair", "preferred pair"):
        return [_pair(row, shape)]
    if shape.name == "response":
        return _response(row, shape)
    value = _decode_messages(row[column], column)
    if isinstance(value, dict) and "response" in value:  # both sides, as in a training run
        sides = {key: side for key, side in value.items() if side is not None}
        prompt = "prompt" if "prompt" in sides else None
        apart = replace(shape, name="response", body="response", prompt=prompt, chat=None)
        if "response" not in sides:
            raise RowError("no response: the turn holds none", column=column)
        return _response(sides, apart)
    said = parse_messages(value, column=column)
    if said and turn_start(said) == len(said):
        who = got(said[-1].role)
        raise RowError(f"no response: the last message is by {who}", column=column)
    return [split_turn(said, judged=shape.judged, column=column)]


def _messages(row: dict[str, Any], column: str) -> list[ParsedMessage]:
    """Return messages, decoded where a text cell holds them as JSON."""
    return parse_messages(_decode_messages(row[column], column), column=column)


def _decode_messages(value: Any, column: str) -> Any:
    value = _read_transcript(value)
    if isinstance(value, str):
        return decode_json(value, what="messages", column=column)
    return value


def _response(row: dict[str, Any], shape: RowShape) -> list[Draft | RowError]:
    """Read a response that is text or messages."""
    column = shape.body or ""
    response = row[column]
    prompt = _prompt(row, shape)
    if isinstance(response, str):
        answer = select_text_answer(response, judged=shape.judged, prompt=prompt)
        return [Draft(prompt=prompt, response=answer)]
    said = _response_messages(response, column=column)
    return [split_turn(said, judged=shape.judged, column=column, prompt=prompt)]


def _response_messages(value: Any, *, column: str) -> list[ParsedMessage]:
    if not isinstance(value, list | tuple | dict):
        raise RowError(f"response must be text or messages, got {got(value)}", column=column)
    return parse_messages(value, column=column)


def _prompt(row: dict[str, Any], shape: RowShape) -> tuple[Message, ...]:
    column = shape.prompt
    if column is None:
        return ()
    value = row[column]
    if isinstance(value, str) and column != shape.chat:
        rest = None if shape.prompt_rest is None else row[shape.prompt_rest]
        is_text = isinstance(rest, str) and rest.strip()
        return prompt_of_text(f"{value}\n\n{rest}" if is_text else value)
    if not isinstance(value, str | list | tuple | dict):
        raise RowError(f"prompt must be text or messages, got {got(value)}", column=column)
    return make_prompt(_messages(row, column))


# Two responses, the prompt apart or in both ---------------------------------------------------


def _sides(row: dict[str, Any], shape: RowShape) -> list[Draft | RowError]:
    """Return the chosen response and the rejected one, each an item of one group.

    Messages are the whole conversation where there is no separate prompt, or where they begin with
    a message by neither assistant nor tool. The common beginning of both sides is then the prompt,
    at least up to the last such message. A missing side has an empty turn.
    """
    columns = {"chosen": shape.body or "", "rejected": shape.second or ""}
    values = {name: row.get(column) for name, column in columns.items()}
    texts = {name: value for name, value in values.items() if isinstance(value, str)}
    if shape.name != "pair" and shape.prompt is None and texts:  # they often begin with the prompt
        reason = "no prompt: where it ends in the texts chosen and rejected cannot be told"
        raise RowError(reason, column=columns["chosen"])
    said = {
        name: _response_messages(value, column=columns[name])
        for name, value in values.items()
        if value is not None and name not in texts
    }
    whole = [
        messages
        for messages in said.values()
        if shape.prompt is None or turn_start(messages[:1]) == 1
    ]
    n_shared = 0
    if len(whole) == len(columns):
        both = zip(whole[0][:-1], whole[1][:-1], strict=False)
        n_shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], both))
    drafts: list[Draft | RowError] = []
    for name, column in columns.items():
        about: dict[str, Any] = {"suffix": f":{name}", "metadata": {"preference": name}}
        messages = said.get(name, [])
        is_whole = any(messages is one for one in whole)
        try:
            prompt = () if is_whole else _prompt(row, shape)
            if name in texts:
                answer = select_text_answer(texts[name], judged=shape.judged, prompt=prompt)
            else:
                start = max(turn_start(messages), n_shared)
                prompt += make_prompt(messages[:start])
                answer = select_turn_answer(
                    messages[start:], judged=shape.judged, column=column, prompt=prompt
                )
            drafts.append(Draft(prompt=prompt, response=answer, **about))
        except RowError as error:
            drafts.append(error)
    return drafts


def _pair(row: dict[str, Any], shape: RowShape) -> Draft:
    """Return one item with both responses, if they answer the same prompt."""
    columns = [shape.body or "", shape.second or ""]
    if shape.chat == shape.body and isinstance(row[columns[0]], str):
        decoded = decode_json(row[columns[0]], what="messages", column=shape.body)
        row = {**row, columns[0]: decoded}
    sides = _sides(row, shape)
    drafts = []
    for side, column in zip(sides, columns, strict=True):
        if row.get(column) is None:
            raise RowError("no response: a pair must have two", column=column)
        if isinstance(side, RowError):
            raise side
        drafts.append(side)
    # A text without a prompt answers the prompt of the other one.
    is_apart = shape.prompt is not None
    prompts = [
        draft.prompt
        for draft, column in zip(drafts, columns, strict=True)
        if is_apart or not isinstance(row[column], str)
    ]
    if len(prompts) > 1 and prompts[0] != prompts[1]:
        reason = "both responses must answer one prompt, got two conversations"
        raise RowError(reason, column=columns[1])
    return Draft(
        prompt=prompts[0] if prompts else (),
        response=drafts[0].response,
        other=drafts[1].response,
        metadata=None if shape.name == "pair" else {"preference": "A"},
    )
