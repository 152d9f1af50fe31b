"""One parameter of a command that stands for a group of options: the fields of a dataclass."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Offered", "offered_names", "takes_groups"]


@dataclass(frozen=True)
class Offered:
    """Beside a group in `Annotated`: which of its options a command offers, in this order.

    The others are as the group has them by default.
    """

    names: tuple[str, ...]


def offered_names(group: Any) -> tuple[str, ...]:
    """Name the options of a group, or of one in `Annotated` beside what is `Offered` of it."""
    for mark in _marks(group):
        if isinstance(mark, Offered):
            return mark.names
    return tuple(field.name for field in fields(_bare(group)))


def takes_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Show typer the options of the groups that a command takes, each where its group stands.

    Typer reads a command's signature. This one names every option by itself; when the command is
    called, the values of a group are put together again.
    """
    shown: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        if is_dataclass(_bare(parameter.annotation)):
            groups[parameter.name] = parameter.annotation
            shown += _options(parameter.annotation)
        else:
            shown.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @wraps(command)
    def called(**given: Any) -> None:
        made = {
            name: _bare(group)(**{option: given.pop(option) for option in offered_names(group)})
            for name, group in groups.items()
        }
        command(**given, **made)

    signature = inspect.Signature(shown)  # refuses an option that is there twice
    called.__signature__ = signature  # type: ignore[attr-defined]  # inspect reads it
    called.__annotations__ = {option.name: option.annotation for option in shown}
    return called


def _options(group: Any) -> list[inspect.Parameter]:
    bare = _bare(group)
    kinds = get_type_hints(bare, include_extras=True)
    by_name = {field.name: field for field in fields(bare)}
    return [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=_default(by_name[name]),
            annotation=kinds[name],
        )
        for name in offered_names(group)
    ]


def _default(field: Field[Any]) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return inspect.Parameter.empty if field.default is MISSING else field.default


def _bare(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _marks(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
