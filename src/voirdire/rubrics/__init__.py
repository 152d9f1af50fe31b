"""Rubrics: questions, the behaviors that prompts deserve, and the logic of completion classes.

Nothing heavy is imported here: the YAML reader and numpy arrive with the first name that needs
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.documents import Problem
    from voirdire.rubrics.logic.checking import check_logic
    from voirdire.rubrics.logic.classes import (
        ClassProbabilities,
        class_probabilities,
        expression_holds,
        expression_probability,
        hard_classes,
    )
    from voirdire.rubrics.logic.expressions import Expression, render_expression
    from voirdire.rubrics.logic.parsing import parse_expression
    from voirdire.rubrics.rbr_layout import OUR_NAMES, rubric_from_rbr_layout
    from voirdire.rubrics.reading import built_in_rubrics, load_rubric, rubric_from_text
    from voirdire.rubrics.rubric import (
        RUBRIC_SCHEMA,
        Behavior,
        CompletionClass,
        Demand,
        Question,
        Rubric,
    )
    from voirdire.rubrics.writing import rubric_to_yaml

__all__ = [
    "OUR_NAMES",
    "RUBRIC_SCHEMA",
    "Behavior",
    "ClassProbabilities",
    "CompletionClass",
    "Demand",
    "Expression",
    "Problem",
    "Question",
    "Rubric",
    "built_in_rubrics",
    "check_logic",
    "class_probabilities",
    "expression_holds",
    "expression_probability",
    "hard_classes",
    "load_rubric",
    "parse_expression",
    "render_expression",
    "rubric_from_rbr_layout",
    "rubric_from_text",
    "rubric_to_yaml",
]

_HOMES = {
    "OUR_NAMES": "rbr_layout",
    "RUBRIC_SCHEMA": "rubric",
    "Behavior": "rubric",
    "ClassProbabilities": "logic.classes",
    "CompletionClass": "rubric",
    "Demand": "rubric",
    "Expression": "logic.expressions",
    "Problem": "voirdire.documents",
    "Question": "rubric",
    "Rubric": "rubric",
    "built_in_rubrics": "reading",
    "check_logic": "logic.checking",
    "class_probabilities": "logic.classes",
    "expression_holds": "logic.classes",
    "expression_probability": "logic.classes",
    "hard_classes": "logic.classes",
    "load_rubric": "reading",
    "parse_expression": "logic.parsing",
    "render_expression": "logic.expressions",
    "rubric_from_rbr_layout": "rbr_layout",
    "rubric_from_text": "reading",
    "rubric_to_yaml": "writing",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
