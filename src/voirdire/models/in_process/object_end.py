"""Where the first JSON object of a text ends, while the text is still coming."""

from __future__ import annotations

__all__ = ["ObjectEnd"]


class ObjectEnd:
    r"""Watches a text for the brace that closes its first object.

    Examples
    --------
    >>> end = ObjectEnd()
    >>> [end.reached(piece) for piece in ('{"a": "}', '\\', '"}"', "}")]
    [False, False, False, True]
    """

    def __init__(self) -> None:
        self._depth = 0
        self._is_in_string = False
        self._is_escaped = False

    def reached(self, text: str) -> bool:
        """Read on, and say whether the object has ended.

        Parameters
        ----------
        text : str
            What comes next.

        Returns
        -------
        bool
            Whether the brace is in `text`.
        """
        return any(self._closes(character) for character in text)

    def _closes(self, character: str) -> bool:
        if self._is_in_string:
            self._pass_in_string(character)
        elif character == "{":
            self._depth += 1
        elif self._depth and character == '"':
            self._is_in_string = True
        elif self._depth and character == "}":
            self._depth -= 1
            return self._depth == 0
        return False

    def _pass_in_string(self, character: str) -> None:
        if self._is_escaped:
            self._is_escaped = False
        elif character == "\\":
            self._is_escaped = True
        elif character == '"':
            self._is_in_string = False
