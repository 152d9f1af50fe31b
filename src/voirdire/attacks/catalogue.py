"""All attacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire.attacks import disguise, structure
from voirdire.attacks.attack import Attack
from voirdire.attacks.persuasion import PERSUASION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from voirdire.attacks.attack import AttackFamily

__all__ = ["attacks"]


def attacks() -> tuple[Attack, ...]:
    """Make all attacks.

    Returns
    -------
    tuple of Attack
        Ids are unique. Those of the family ``"size"`` hold about a megabyte each, made at every
        call: leave that family out where tokens are paid for.

    Examples
    --------
    >>> small = [row for row in attacks() if row.family != "size"]
    >>> sum(len(row.response) for row in small) < 20_000
    True
    """
    spoken = (
        Attack(
            id=f"{family}/{name}_{language}",
            family=family,
            language=language,
            response=text,
            aim=aim,
        )
        for family, language, name, text, aim in PERSUASION
    )
    return (*_in_no_language(), *spoken)


def _in_no_language() -> Iterator[Attack]:
    """Make the attacks that hardly speak, and that English stands for."""
    families: tuple[tuple[AttackFamily, disguise.Parts], ...] = (
        ("fence", structure.FENCES),
        ("forged_reply", structure.FORGED_REPLIES),
        ("role_tag", structure.ROLE_TAGS),
        ("escape", structure.ESCAPES),
        ("completion", structure.COMPLETIONS),
        ("hidden_text", disguise.hidden_attacks()),
        ("encoded", disguise.encoded_attacks()),
        ("markup", disguise.markup_attacks()),
        ("size", disguise.size_attacks()),
    )
    for family, parts in families:
        for name, text, aim in parts:
            yield Attack(
                id=f"{family}/{name}", family=family, language="en", response=text, aim=aim
            )
