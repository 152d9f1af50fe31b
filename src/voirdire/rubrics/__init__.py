"""Rubrics: questions, the behaviors that prompts deserve, and the logic of completion classes.

Nothing heavy is imported here: the YAML reader and numpy arrive with the first name that needs
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.documents import Problem
    from voirdire.rubrics.classes import (
        ClassProbabilities,
        class_probabilities,
        expression_holds,
        expression_probability,
        hard_classes,
    )
    from voirdire.rubrics.expressions import Expression, parse_expression, render_expression
    from voirdire.rubrics.files import (
        built_in_rubrics,
        load_rubric,
        rubric_from_text,
        rubric_to_yaml,
    )
    from voirdire.rubrics.logic import check_logic
    from voirdire.rubrics.rbr_layout import OUR_NAMES, rubric_from_rbr_layout
    from voirdire.rubrics.rubric import (
        RUBRIC_SCHEMA,
        Behavior,
        CompletionClass,
        Demand,
        Question,
        Rubric,
    )

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
    "ClassProbabilities": "classes",
    "CompletionClass": "rubric",
    "Demand": "rubric",
    "Expression": "expressions",
    "Problem": "voirdire.documents",
    "Question": "rubric",
    "Rubric": "rubric",
    "built_in_rubrics": "files",
    "check_logic": "logic",
    "class_probabilities": "classes",
    "expression_holds": "classes",
    "expression_probability": "classes",
    "hard_classes": "classes",
    "load_rubric": "files",
    "parse_expression": "expressions",
    "render_expression": "expressions",
    "rubric_from_rbr_layout": "rbr_layout",
    "rubric_from_text": "files",
    "rubric_to_yaml": "files",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
