"""Rubrics: questions, the behaviors that prompts deserve, and the logic of completion classes.

Nothing heavy is imported here: the YAML reader and numpy arrive with the first name that needs
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire._messages import Problem
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
    from voirdire.rubrics.rubric import (
        RUBRIC_SCHEMA,
        Behavior,
        CompletionClass,
        Demand,
        Question,
        Rubric,
    )

__all__ = [
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
    "rubric_from_text",
    "rubric_to_yaml",
]

_HOMES = {
    "Problem": "voirdire._messages",
    "check_logic": "logic",
    **dict.fromkeys(("Expression", "parse_expression", "render_expression"), "expressions"),
    **dict.fromkeys(
        ("RUBRIC_SCHEMA", "Behavior", "CompletionClass", "Demand", "Question", "Rubric"), "rubric"
    ),
    **dict.fromkeys(
        (
            "ClassProbabilities",
            "class_probabilities",
            "expression_holds",
            "expression_probability",
            "hard_classes",
        ),
        "classes",
    ),
    **dict.fromkeys(
        ("built_in_rubrics", "load_rubric", "rubric_from_text", "rubric_to_yaml"), "files"
    ),
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
