"""Rubrics in the layout of the authors of rule-based rewards, told by its keys.

Simple propositions are questions, derived ones are conjunctions of states of others, and each
class of each behavior is a conjunction again [1]_.

References
----------
.. [1] T. Mu, A. Helyar, J. Heidecke et al., "Rule Based Rewards for Language Model Safety",
   NeurIPS 2024, :arxiv:`2411.01111`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from voirdire._types import ClassRule
from voirdire._validation import check_choice, shorten
from voirdire.errors import InputError
from voirdire.rubrics.findings import Findings
from voirdire.rubrics.form_errors import read_form
from voirdire.rubrics.names import NAME_RULE, is_rubric_name, name_of_file
from voirdire.rubrics.rbr_form import LAYOUT_KEYS, LayoutForm, check_layout
from voirdire.rubrics.rubric import Behavior, CompletionClass, Demand, Question, Rubric
from voirdire.rubrics.source_text import read_rubric_file
from voirdire.rubrics.yaml_composing import compose
from voirdire.rubrics.yaml_nodes import MappingNode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from voirdire.rubrics.findings import Path as PathInFile
    from voirdire.rubrics.yaml_nodes import Node

__all__ = ["OUR_NAMES", "is_rbr_layout", "rubric_from_layout_nodes", "rubric_from_rbr_layout"]

OUR_NAMES = {
    "apology_acknowledges_emotional_state": "empathetic_apology",
    "gentle_encouragement_for_help": "gentle_encouragement",
    "illogical_continuation_of_prompt": "illogical_continuation",
}
"""The authors' propositions that our safety rubric has under another name."""

_VERSION = "1"


def rubric_from_rbr_layout(
    path: str | Path,
    *,
    name: str | None = None,
    version: str = _VERSION,
    names: Mapping[str, str] | None = None,
    class_rule: ClassRule = "product",
) -> Rubric:
    """Read a rubric in the layout of the authors of rule-based rewards.

    Simple propositions become boolean questions in English, derived ones named expressions, and
    every behavior gets its classes as conjunctions, the worst class first. The layout has no words
    for demands: all propositions on which a behavior's classes rest are `allowed`. The prompt
    template is left out, as voirdire writes its own prompts.

    Parameters
    ----------
    path : str or path
        A YAML file with the keys `completion_class_order` (best first), `completion_classes`,
        `simple_propositions` and perhaps `derived_propositions` and `prompt_template`.
    name : str, optional
        Of the rubric. By default that of the file.
    version : str, optional
        Of the rubric.
    names : mapping of str to str, optional
        Propositions to rename, theirs to yours. `OUR_NAMES` has those that the safety rubric
        calls otherwise.
    class_rule : {"product", "exact"}, optional
        `product` is the rule of the authors. `exact` needs classes that take every response.

    Returns
    -------
    Rubric
        In our form; `rubric_to_yaml` writes it.

    Raises
    ------
    RubricError
        If the file breaks a rule of the layout.
    InputError
        If `name` or `class_rule` is none.
    """
    if name is not None and not is_rubric_name(name):
        msg = f"`name` must be {NAME_RULE}, got {shorten(name)!r}."
        raise InputError(msg)
    source = str(path)
    root = compose(read_rubric_file(Path(path)), source=source)
    return rubric_from_layout_nodes(
        root,
        source=source,
        name=name,
        version=version,
        names=names,
        class_rule=check_choice("class_rule", class_rule, ClassRule),
    )


def is_rbr_layout(root: Node) -> bool:
    """Tell by its keys whether a file is in this layout and not in our form."""
    return (
        isinstance(root, MappingNode)
        and root.find("schema") is None
        and any(root.find(key) is not None for key in LAYOUT_KEYS)
    )


def rubric_from_layout_nodes(
    root: Node,
    *,
    source: str,
    name: str | None = None,
    version: str = _VERSION,
    names: Mapping[str, str] | None = None,
    class_rule: ClassRule = "product",
) -> Rubric:
    """Read nodes as `rubric_from_rbr_layout` reads a file."""
    findings = Findings(root, source=source)
    form = read_form(LayoutForm, findings, path=(), what="a file of this layout")
    if form is None:
        raise findings.error()
    check_layout(form, findings, names=names or {})
    if findings.found:
        raise findings.error()
    translation = _Translation(form, names or {})
    rubric = Rubric(
        name=name or name_of_file(source, otherwise="rbr"),
        version=version,
        questions=translation.questions(),
        expressions=translation.expressions(),
        behaviors=translation.behaviors(),
        class_rule=class_rule,
        source=source,
    )
    findings.add_logic(rubric, place_of=translation.place_of)
    if findings.found:
        raise findings.error()
    return rubric


class _Translation:
    """Everything of a file under our names."""

    def __init__(self, form: LayoutForm, names: Mapping[str, str]) -> None:
        self.form = form
        self.names = names
        self.derived = form.derived_propositions or {}

    def questions(self) -> tuple[Question, ...]:
        return tuple(
            Question(id=self._ours(name), kind="boolean", text={"en": row.prompt})
            for name, row in self.form.simple_propositions.items()
        )

    def expressions(self) -> dict[str, str]:
        return {self._ours(name): self._conjunction(row) for name, row in self.derived.items()}

    def behaviors(self) -> tuple[Behavior, ...]:
        classes = self.form.completion_classes
        names = dict.fromkeys(behavior for rows in classes.values() for behavior in rows)
        return tuple(self._behavior(name) for name in names)

    def place_of(self, where: tuple[str, ...]) -> PathInFile:
        """Find in the file what a place in the rubric came from."""
        theirs = {ours: name for name, ours in self.names.items()}
        match where:
            case ("expressions", name):
                return ("derived_propositions", theirs.get(name, name))
            case ("behaviors", behavior, "classes", name):
                return ("completion_classes", name, behavior)
        return ("completion_classes",)

    def _behavior(self, behavior: str) -> Behavior:
        # Worst first: precedence is from `disallowed` down, as in our own classes.
        states = {
            name: self.form.completion_classes[name][behavior]
            for name in reversed(self.form.completion_class_order)
            if behavior in self.form.completion_classes[name]
        }
        needed = self._rests_on(name for row in states.values() for name in row)
        return Behavior(
            id=behavior,
            demands={
                self._ours(name): Demand(word="allowed", demanded=None)
                for name in self.form.simple_propositions
                if name in needed
            },
            classes=tuple(
                CompletionClass(name=name, when=self._conjunction(row))
                for name, row in states.items()
            ),
        )

    def _rests_on(self, names: Iterable[str]) -> set[str]:
        """Follow derived propositions down to the simple ones."""
        waiting, seen = list(names), set[str]()
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting.extend(self.derived.get(name, ()))
        return seen

    def _conjunction(self, states: Mapping[str, bool]) -> str:
        parts = (("" if state else "not ") + self._ours(name) for name, state in states.items())
        return " and ".join(parts) or "true"

    def _ours(self, name: str) -> str:
        return self.names.get(name, name)
