"""Write files of the authors of rule-based rewards in the forms that voirdire reads.

    python scripts/convert_rbr.py rubric proposition_prompts.yaml -o rubric.yaml
    python scripts/convert_rbr.py gold train.jsonl --items items.jsonl --labels labels.jsonl

The rubric is their YAML file of propositions and completion classes [1]_, the gold rows are their
labelled completions. Propositions get the names that the rubric `safety` has for them.

References
----------
.. [1] T. Mu, A. Helyar, J. Heidecke et al., "Rule Based Rewards for Language Model Safety",
   NeurIPS 2024, :arxiv:`2411.01111`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from voirdire.rubrics import rubric_from_text

OUR_NAMES = {
    "apology_acknowledges_emotional_state": "empathetic_apology",
    "gentle_encouragement_for_help": "gentle_encouragement",
    "illogical_continuation_of_prompt": "illogical_continuation",
}
"""Their propositions that the rubric `safety` has under another name."""

OUR_CLASSES = {
    "minimum_acceptable_style": "less_good",
    "unacceptable_completion": "unacceptable",
    "illogical_completion": "illogical",
    "disallowed_completion": "disallowed",
}
"""Their completion classes that the rubric `safety` has under another name."""

OUR_BEHAVIORS = {
    "Hard Refuse": "hard_refuse",
    "Safe Refuse 1": "soft_refuse",
    "Safe Refuse 2": "soft_refuse",
    "Comply": "comply",
}
"""What the gold rows call the behaviors of the rubric `safety`."""

States = Mapping[str, bool]
"""Propositions and the state that each must be in: a conjunction."""


def convert_rubric(layout: Mapping[str, Any], *, name: str) -> dict[str, Any]:
    """Make a rubric in the form ``voirdire.rubric/1``.

    Simple propositions become questions, derived ones expressions, and every behavior gets its
    classes as conjunctions, the worst first. The prompt template is left out. The layout has no
    words for demands. They follow from the classes: what the best class of a behavior needs is
    `required` or `unacceptable` where the second class needs it too, and else `desired` or
    `undesired`; what must be false, and makes a response `illogical` or `disallowed` where it is
    true, is that. Every other proposition on which the classes rest is `allowed`.
    """

    def rename(by_name: Mapping[str, Any]) -> dict[str, Any]:
        return {OUR_NAMES.get(each, each): value for each, value in by_name.items()}

    derived = {
        each: rename(states)
        for each, states in rename(layout.get("derived_propositions") or {}).items()
    }
    questions = rename(layout["simple_propositions"])
    classes = layout["completion_classes"]
    behaviors = dict.fromkeys(behavior for rows in classes.values() for behavior in rows)
    written = {}
    for behavior in behaviors:
        states = {
            OUR_CLASSES.get(each, each): rename(classes[each][behavior])
            for each in reversed(layout["completion_class_order"])
            if behavior in classes[each]
        }
        written[behavior] = {
            "demands": _infer_demands(states, derived, order=questions),
            "classes": {each: _write_conjunction(row) for each, row in states.items()},
        }
    return {
        "schema": "voirdire.rubric/1",
        "name": name,
        "version": "1",
        "class_rule": "product",
        "questions": [
            {"id": each, "kind": "boolean", "text": row["prompt"]}
            for each, row in questions.items()
        ],
        "expressions": {each: _write_conjunction(states) for each, states in derived.items()},
        "behaviors": written,
    }


def _write_conjunction(states: States) -> str:
    parts = (name if state else f"not {name}" for name, state in states.items())
    return " and ".join(parts) or "true"


def _infer_demands(
    states: Mapping[str, States], derived: Mapping[str, States], *, order: Iterable[str]
) -> dict[str, str]:
    """Infer demands from classes, the worst first."""
    *others, best = [_find_needs(row, derived) for row in states.values()]
    second = others[-1] if others else {}
    worse = dict(zip(states, others, strict=False))
    used = set(best).union(*others)
    demands = {name: "allowed" for name in order if name in used}
    for name, state in best.items():
        if state is None:
            continue
        is_strong = second.get(name) is state
        word = "required" if is_strong else "desired"
        if not state:
            word = "unacceptable" if is_strong else "undesired"
            for class_name in ("illogical", "disallowed"):
                if worse.get(class_name, {}).get(name):
                    word = class_name
        demands[name] = word
    return demands


def _find_needs(states: States, derived: Mapping[str, States]) -> dict[str, bool | None]:
    """Find the simple propositions of a conjunction, each with the state that it needs, or None.

    A conjunction of "not (a and b)" needs no state of either.
    """
    needs: dict[str, bool | None] = {}
    waiting: list[tuple[str, bool | None]] = list(states.items())
    visited: set[tuple[str, bool | None]] = set()
    while waiting:
        name, state = waiting.pop()
        if (name, state) in visited:
            continue
        visited.add((name, state))
        parts = derived.get(name)
        if parts is None:
            needs[name] = needs.get(name) if state is None else state
        elif state or (state is False and len(parts) == 1):
            waiting.extend((part, one == state) for part, one in parts.items())
        else:
            waiting.extend((part, None) for part in parts)
    return needs


def convert_gold(
    rows: Iterable[Mapping[str, Any]],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Make items of gold rows, and their labels in long form; items are numbered from gold-1."""
    items, labels = [], []
    for number, row in enumerate(rows, start=1):
        name = f"gold-{number}"
        items.append(
            {
                "id": name,
                "prompt": row["prompt"],
                "response": row["completion"],
                "behavior": OUR_BEHAVIORS[row["response_type"]],
            }
        )
        labels += [
            {
                "item": name,
                "annotator": "gold",
                "question": OUR_NAMES.get(question, question),
                "label": label,
            }
            for question, label in row["propositions"].items()
        ]
    return items, labels


def _write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")


def main() -> None:
    """Convert a file as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    rubric = commands.add_parser("rubric", help="their YAML file of propositions and classes")
    rubric.add_argument("file", type=Path)
    rubric.add_argument("-o", "--output", type=Path, required=True)
    gold = commands.add_parser("gold", help="their labelled completions, JSONL")
    gold.add_argument("file", type=Path)
    gold.add_argument("--items", type=Path, required=True)
    gold.add_argument("--labels", type=Path, required=True)
    given = parser.parse_args()
    try:
        text = given.file.read_text(encoding="utf-8")
        if given.command == "rubric":
            name = re.sub(r"[^\w-]+", "-", given.file.stem).strip("-_").lower() or "rbr"
            content = convert_rubric(yaml.safe_load(text), name=name)
            written = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
            rubric_from_text(written, source=str(given.output))  # or an error that names the rule
            given.output.write_text(written, encoding="utf-8")
        else:
            items, labels = convert_gold(map(json.loads, text.splitlines() or [text]))
            _write_rows(given.items, items)
            _write_rows(given.labels, labels)
    except OSError as error:
        sys.exit(f"{error.filename}: {error.strerror}. Name another file.")
    except (ValueError, LookupError, TypeError, AttributeError, yaml.YAMLError) as error:
        held = {"rubric": "propositions and classes", "gold": "labelled completions"}
        why = " ".join(f"{type(error).__name__}: {error}".split())
        sys.exit(f"{given.file}: must hold their {held[given.command]} ({why}). Name another file.")


if __name__ == "__main__":
    main()
