"""Which keys a file may name, and for where: a file may be a stranger's, a key never is."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.models.known_providers import PROVIDERS
from voirdire.models.openai_compatible.addresses import check_base_url, is_loopback

__all__ = ["ALLOWED_VARIABLE", "check_key_of_file"]

ALLOWED_VARIABLE = "VOIRDIRE_KEY_VARIABLES"
"""The variable that says which others a file may name: ``MY_KEY@judge.example.com,OTHER@host``."""

_NATIVE = "native"
_ENTRY = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)@(\S+)")


def check_key_of_file(variable: str | None, *, model: str, base_url: str | None) -> None:
    """Refuse a key that a file names, where whoever runs it has not said that it may.

    Parameters
    ----------
    variable : str or None
        The environment variable that the file names; None where it names none.
    model : str
        The model that the file names.
    base_url : str or None
        The address that the file names.

    Raises
    ------
    InputError
        If the variable is neither the provider's own, on the way to that provider, nor allowed
        for that address by ``VOIRDIRE_KEY_VARIABLES``.

    Notes
    -----
    Who wrote a file chose the address in it too. Any variable, such as the password of a database,
    would else be sent to whoever asks for it.
    """
    prefix, _, rest = model.partition("/")
    if variable is None:
        if prefix == _NATIVE and base_url is not None:  # its library looks for keys by itself
            msg = (
                f"a file with an address for {shorten(model)!r} must name the key for it too, got "
                "none. Write `api_key_env: MY_KEY` beside it."
            )
            raise InputError(msg)
        return
    if _is_providers_own(variable, prefix=prefix, rest=rest, base_url=base_url):
        return
    place = _place(prefix, rest=rest, base_url=base_url)
    if not {place, _without_port(place)} & _allowed(variable):
        msg = (
            "a key that a file names must be the provider's own at its own address, or one that "
            f"you allow, got {shorten(variable)!r} for {shorten(place)!r}. If that key is meant "
            f"for there, set {ALLOWED_VARIABLE}={shorten(variable)}@{shorten(place)}."
        )
        raise InputError(msg)


def _is_providers_own(variable: str, *, prefix: str, rest: str, base_url: str | None) -> bool:
    if prefix == _NATIVE:
        name = rest.partition("/")[0]
        provider = PROVIDERS.get(name)
        own = (f"{name.upper()}_API_KEY", *(provider.key_variables if provider else ()))
        return variable in own and base_url is None
    provider = PROVIDERS.get(prefix)
    if provider is None or variable not in provider.key_variables:
        return False
    return provider.is_at(provider.base_url if base_url is None else check_base_url(base_url))


def _place(prefix: str, *, rest: str, base_url: str | None) -> str:
    """Name where a key would go: a host; with ``http://`` where others could read it."""
    provider = PROVIDERS.get(prefix)
    if base_url is None and provider is None:
        return f"{prefix}/{rest.partition('/')[0]}" if prefix == _NATIVE else prefix
    default = "" if provider is None else provider.base_url
    parts = urlsplit(check_base_url(base_url or default))
    is_read_by_others = parts.scheme == "http" and not is_loopback(parts.hostname or "")
    return f"http://{parts.netloc}" if is_read_by_others else parts.netloc


def _without_port(place: str) -> str:
    return re.sub(r":\d+$", "", place)


def _allowed(variable: str) -> set[str]:
    """Read for where a variable is allowed."""
    found = set()
    for entry in filter(None, map(str.strip, os.environ.get(ALLOWED_VARIABLE, "").split(","))):
        match = _ENTRY.fullmatch(entry)
        if match is None:  # not shown: it may be a key
            msg = f"{ALLOWED_VARIABLE} must hold variables with hosts, got something else."
            raise InputError(f"{msg} Write it like MY_KEY@judge.example.com,OTHER@localhost:8000.")
        if match[1] == variable:
            found.add(match[2].lower().rstrip("/"))
    return found
