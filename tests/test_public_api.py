"""The public face: what is exported, what is documented, and how it may be called."""

import dataclasses
import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
import types

import pytest

import voirdire
from voirdire import errors

# Public functions that take more than two positional arguments. This list only ever shrinks.
POSITIONAL_ALLOWLIST: frozenset[str] = frozenset()

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(voirdire.__path__, prefix="voirdire.")
    if not module.name.endswith(".__main__")
)
# What users import from: the package, its public packages, and the two public modules.
FACES = [
    "voirdire",
    *(name for name in MODULES if re.fullmatch(r"voirdire\.(?!documents$)[a-z]\w*", name)),
]
HEAVY = {
    "aiohttp",
    "cyclopts",
    "fastapi",
    "genai_prices",
    "jinja2",
    "matplotlib",
    "msgspec",
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "pydantic",
    "rich",
    "scipy",
    "sklearn",
    "sqlalchemy",
    "torch",
    "transformers",
    "uvicorn",
    "yaml",
}


def exports(face: str) -> dict[str, object]:
    module = importlib.import_module(face)
    return {name: getattr(module, name) for name in module.__all__}


def is_ours(value: object) -> bool:
    return str(getattr(value, "__module__", "")).partition(".")[0] == "voirdire"


PUBLIC = {
    f"{face}.{name}": value
    for face in FACES
    if hasattr(importlib.import_module(face), "__all__")
    for name, value in exports(face).items()
    if is_ours(value)
}
FUNCTIONS = {name: value for name, value in PUBLIC.items() if inspect.isfunction(value)}
CLASSES = {name: value for name, value in PUBLIC.items() if inspect.isclass(value)}
METHODS = {
    f"{name}.{method}": value
    for name, public_class in CLASSES.items()
    for method, value in vars(public_class).items()
    if inspect.isfunction(value) and not method.startswith("_")
}


def each(values: dict[str, object]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("name", sorted(values))


def run_python(code: str, *options: str) -> str:
    done = subprocess.run(
        [sys.executable, *options, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.ci
def test_every_module_imports_without_warnings():
    code = f"import importlib\nfor name in {MODULES!r}: importlib.import_module(name)"

    run_python(code, "-W", "error")


@pytest.mark.parametrize("face", FACES)
def test_every_face_declares_what_it_exports(face):
    names = importlib.import_module(face).__all__

    assert len(set(names)) == len(names)
    assert set(names) <= set(dir(importlib.import_module(face)))


@pytest.mark.parametrize("face", FACES)
def test_what_a_face_holds_is_what_it_exports(face):
    module = importlib.import_module(face)
    is_package = hasattr(module, "__path__")
    held = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and not isinstance(value, types.ModuleType)
        and is_ours(value)
        and (is_package or value.__module__ == face)
    }

    assert held <= set(module.__all__)


@pytest.mark.parametrize("face", FACES)
def test_an_unknown_name_is_an_attribute_error(face):
    with pytest.raises(AttributeError):
        importlib.import_module(face).no_such_name  # noqa: B018


@pytest.mark.edges
@each(FUNCTIONS | CLASSES | METHODS)
def test_everything_public_has_a_docstring(name):
    value = (FUNCTIONS | CLASSES | METHODS)[name]
    summary = (value.__doc__ or "").strip().partition("\n")[0]

    assert summary.endswith(".")
    # A dataclass without a docstring gets its signature for one.
    assert not summary.startswith(f"{value.__name__}(")


def section(docstring: str, title: str) -> str | None:
    """Cut a numpydoc section out of a docstring."""
    pattern = rf"^{title}\n-+\n(.*?)(?=^\S[^\n]*\n-{{3,}}$|\Z)"
    found = re.search(pattern, inspect.cleandoc(docstring), re.DOTALL | re.MULTILINE)
    return found[1] if found else None


def documented_parameters(docstring: str) -> list[str]:
    """Read ``a, b : int`` lines of the section Parameters."""
    lines = re.findall(r"^(\S[^:\n]*?)(?: : .*)?$", section(docstring, "Parameters") or "", re.M)
    return [name.strip().lstrip("*") for line in lines for name in line.split(",")]


@pytest.mark.edges
@each(FUNCTIONS)
def test_the_docstring_names_exactly_the_parameters(name):
    expected = list(inspect.signature(FUNCTIONS[name]).parameters)

    assert documented_parameters(FUNCTIONS[name].__doc__) == expected


@pytest.mark.edges
@each(FUNCTIONS)
def test_the_docstring_says_what_comes_back(name):
    annotation = inspect.signature(FUNCTIONS[name]).return_annotation
    docstring = FUNCTIONS[name].__doc__

    returns = section(docstring, "Returns") or section(docstring, "Yields")

    assert returns or annotation in (None, "None")


def n_positional(function: types.FunctionType) -> int:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return sum(parameter.kind in kinds and parameter.name != "self" for parameter in parameters)


@pytest.mark.edges
@each(FUNCTIONS | METHODS)
def test_at_most_two_arguments_are_positional(name):
    if name in POSITIONAL_ALLOWLIST:
        pytest.skip("on the list that only shrinks")

    assert n_positional((FUNCTIONS | METHODS)[name]) <= 2


def test_the_allowlist_only_shrinks():
    needed = {name for name, value in (FUNCTIONS | METHODS).items() if n_positional(value) > 2}

    assert needed >= POSITIONAL_ALLOWLIST


@pytest.mark.edges
@each({name: value for name, value in CLASSES.items() if dataclasses.is_dataclass(value)})
def test_results_are_frozen_and_keyword_only(name):
    parameters = inspect.signature(CLASSES[name]).parameters.values()

    assert CLASSES[name].__dataclass_params__.frozen
    assert all(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in parameters)


def test_every_exception_lives_in_errors_and_in_its_docstring():
    raised = {name: value for name, value in CLASSES.items() if issubclass(value, BaseException)}
    outside = {name for name, value in raised.items() if value.__module__ != errors.__name__}

    assert outside == set()
    for name in errors.__all__:
        assert name in errors.__doc__


@pytest.mark.parametrize("name", errors.__all__)
def test_the_ancestry_of_errors_and_warnings(name):
    value = getattr(errors, name)

    assert issubclass(value, Warning if name.endswith("Warning") else errors.VoirdireError)


def test_a_wrong_argument_is_also_a_value_error():
    assert issubclass(errors.InputError, ValueError)


def test_importing_voirdire_loads_nothing_heavy():
    code = f"import json, sys, voirdire; print(json.dumps(sorted({HEAVY!r} & set(sys.modules))))"

    assert json.loads(run_python(code)) == []
