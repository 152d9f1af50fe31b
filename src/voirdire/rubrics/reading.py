"""Rubrics from their built-in names, from files and from text."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.rubrics.built_in import built_in_rubrics, built_in_text
from voirdire.rubrics.names import did_you_mean
from voirdire.rubrics.rbr_layout import is_rbr_layout, rubric_from_layout_nodes
from voirdire.rubrics.source_text import decode_rubric, read_rubric_file
from voirdire.rubrics.yaml_composing import compose
from voirdire.rubrics.yaml_form import rubric_from_nodes

if TYPE_CHECKING:
    from voirdire.rubrics.rubric import Rubric

__all__ = ["load_rubric", "rubric_from_text"]


def load_rubric(name_or_path: str | Path) -> Rubric:
    """Load a built-in rubric or one from a YAML file.

    Parameters
    ----------
    name_or_path : str or path
        A name of `built_in_rubrics`, or a file: in the form ``voirdire.rubric/1``, or in the layout
        of the authors of rule-based rewards, which is told by its keys and read as
        `rubric_from_rbr_layout` does. A built-in name wins over a file of that name; write
        ``./safety`` for the file.

    Returns
    -------
    Rubric
        Checked: every name is known, every class can be reached by the logic.

    Raises
    ------
    RubricError
        If the file breaks a rule; the message begins with file, line and column, and `problems`
        has all of them.
    InputError
        If there is no such built-in rubric and no such file.

    Examples
    --------
    >>> rubric = load_rubric("safety")
    >>> len(rubric.propositions)
    21
    >>> [behavior.id for behavior in rubric.behaviors]
    ['hard_refuse', 'soft_refuse', 'comply']
    """
    known = built_in_rubrics()
    if isinstance(name_or_path, str) and name_or_path in known:
        return _built_in(name_or_path)
    path = Path(name_or_path)
    try:
        exists = path.exists()
    except (OSError, ValueError):  # a name that is too long, or holds a zero byte
        exists = False
    if not exists:
        name = str(name_or_path)
        msg = (
            f"a rubric must be a file that exists or one of {', '.join(known)}, got "
            f"{shorten(name)!r}.{did_you_mean(name, known) or ' Check the path.'}"
        )
        raise InputError(msg)
    return rubric_from_text(read_rubric_file(path), source=str(path))


@cache
def _built_in(name: str) -> Rubric:
    return rubric_from_text(built_in_text(name), source=f"built-in {name}")


def rubric_from_text(text: str | bytes, *, source: str = "<text>") -> Rubric:
    """Read a rubric from YAML text.

    Parameters
    ----------
    text : str or bytes
        A whole file, as `load_rubric` reads it.
    source : str, optional
        What errors call it.

    Returns
    -------
    Rubric
        The same as `load_rubric` gives.

    Raises
    ------
    RubricError
        If it breaks a rule.

    Examples
    --------
    >>> rubric = rubric_from_text('''
    ... schema: voirdire.rubric/1
    ... name: politeness
    ... version: "1"
    ... questions:
    ...   - id: thanks
    ...     kind: boolean
    ...     text: Does the response thank the user?
    ... ''')
    >>> rubric.question("thanks").text["en"]
    'Does the response thank the user?'
    """
    root = compose(decode_rubric(text, source=source), source=source)
    if is_rbr_layout(root):
        return rubric_from_layout_nodes(root, source=source)
    return rubric_from_nodes(root, source=source)
