"""A dataclass among the parameters of a command: its fields are options."""

import inspect
from dataclasses import dataclass, field
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from voirdire.cli.option_groups import Offered, offered_names, takes_groups

SPICES = "Spices"


@dataclass(frozen=True, kw_only=True)
class Spices:
    salt: Annotated[int, typer.Option(help="Grains.", rich_help_panel=SPICES)] = 3
    herb: Annotated[list[str], typer.Option(help="Leaves.", rich_help_panel=SPICES)] = field(
        default_factory=lambda: ["thyme"]
    )
    pepper: Annotated[bool, typer.Option("--pepper", rich_help_panel=SPICES)] = False


def taking(group):
    """Make a program with one command that keeps what it was called with."""
    kept = []

    def cook(context: typer.Context, *, dish: str, spices: group, cold: bool = False) -> None:
        kept.append((context.get_parameter_source("salt"), dish, spices, cold))

    cook.__annotations__["spices"] = group
    app = typer.Typer()
    app.command()(takes_groups(cook))
    return app, kept


def cooked(group, *words):
    """Call the command, and give what came to it."""
    app, kept = taking(group)
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 0, done.output
    return kept[0]


def test_what_is_typed_comes_to_the_command_as_the_group():
    _, dish, spices, cold = cooked(
        Spices, "soup", "--salt", "7", "--herb", "sage", "--herb", "mint", "--pepper", "--cold"
    )

    assert (dish, cold) == ("soup", True)
    assert spices == Spices(salt=7, herb=["sage", "mint"], pepper=True)


def test_what_is_not_typed_is_as_the_group_has_it_by_default():
    _, _, spices, _ = cooked(Spices, "soup")

    assert spices == Spices(salt=3, herb=["thyme"], pepper=False)


def test_click_knows_of_each_option_whether_it_was_typed():
    typed, *_ = cooked(Spices, "soup", "--salt", "3")
    left, *_ = cooked(Spices, "soup")

    assert (typed.name, left.name) == ("COMMANDLINE", "DEFAULT")


def test_only_what_is_offered_of_a_group_can_be_typed():
    part = Annotated[Spices, Offered(("pepper", "salt"))]
    app, _ = taking(part)

    refused = CliRunner().invoke(app, ["soup", "--herb", "sage"])
    _, _, spices, _ = cooked(part, "soup", "--pepper")

    assert refused.exit_code == 2
    assert "--herb" in refused.output
    assert spices == Spices(pepper=True)  # the herb by default
    assert offered_names(part) == ("pepper", "salt")
    assert offered_names(Spices) == ("salt", "herb", "pepper")


def test_options_stand_where_their_group_stands():
    def cook(*, dish: str, spices: Spices, cold: bool = False) -> None: ...

    shown = inspect.signature(takes_groups(cook))

    assert list(shown.parameters) == ["dish", "salt", "herb", "pepper", "cold"]


def test_an_option_that_stands_twice_is_refused_where_it_is_defined():
    def cook(*, salt: int, spices: Spices) -> None: ...

    with pytest.raises(ValueError, match="duplicate parameter name: 'salt'"):
        takes_groups(cook)


def test_an_option_that_the_group_does_not_have_is_refused_where_it_is_offered():
    def cook(*, spices: Spices) -> None: ...

    cook.__annotations__["spices"] = Annotated[Spices, Offered(("sugar",))]

    with pytest.raises(KeyError, match="sugar"):
        takes_groups(cook)
