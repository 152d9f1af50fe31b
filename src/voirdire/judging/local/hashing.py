"""Hashes of character and token runs, the same on every machine and in every process.

All arithmetic is modulo :math:`2^{64}`, which is what unsigned integers of numpy do.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Hashes = NDArray[np.uint64]

__all__ = ["extend_runs", "hash_rows", "hash_spans", "scramble", "to_bucket"]

_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 2**64)
_STEP = np.uint64(0xD6E8FEB86659FD93)
_FIRST = np.uint64(0xFF51AFD7ED558CCD)
_SECOND = np.uint64(0xC4CEB9FE1A85EC53)
_SHIFT = np.uint64(33)


def scramble(values: Hashes) -> Hashes:
    """Spread 64-bit numbers evenly (the finaliser of MurmurHash3, public domain).

    Parameters
    ----------
    values : ndarray of uint64
        Any numbers.

    Returns
    -------
    ndarray of uint64
        As many, one to one.
    """
    values = (values ^ (values >> _SHIFT)) * _FIRST
    values = (values ^ (values >> _SHIFT)) * _SECOND
    return values ^ (values >> _SHIFT)


def hash_spans(
    codes: NDArray[np.uint32], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> Hashes:
    r"""Hash the span ``codes[start:end]`` for every start and end, by one cumulative sum.

    With :math:`P_i = \sum_{j<i} (c_j + 1) B^j` the hash of a span is
    :math:`(P_e - P_s) B^{-s}`: it does not depend on where the span stands.

    Parameters
    ----------
    codes : ndarray of uint32, shape (n_characters,)
        Code points.
    starts, ends : ndarray of int64, shape (n_spans,)
        Where the spans begin and end.

    Returns
    -------
    ndarray of uint64, shape (n_spans,)
        Their hashes.
    """
    powers, inverses = _powers(len(codes) + 1)
    sums = np.zeros(len(codes) + 1, dtype=np.uint64)
    np.cumsum((codes.astype(np.uint64) + np.uint64(1)) * powers[:-1], out=sums[1:])
    return scramble((sums[ends] - sums[starts]) * inverses[starts])


def extend_runs(runs: Hashes, units: Hashes, length: int) -> Hashes:
    """Make the hashes of runs of `length` units from those of ``length - 1``.

    Parameters
    ----------
    runs : ndarray of uint64, shape (n - length + 2,)
        Hashes of runs of ``length - 1`` units, from every place. Not scrambled.
    units : ndarray of uint64, shape (n,)
        Hashes of single units.
    length : int
        At least 2.

    Returns
    -------
    ndarray of uint64, shape (n - length + 1,)
        To be scrambled, or passed to `to_bucket`, before use.
    """
    return runs[:-1] * _STEP + units[length - 1 :]


def hash_rows(units: Hashes) -> Hashes:
    """Hash each row of units as `extend_runs` would, unit by unit.

    Parameters
    ----------
    units : ndarray of uint64, shape (n_runs, length)
        Hashes of single units, `length` at least 1.

    Returns
    -------
    ndarray of uint64, shape (n_runs,)
        Hashes of the runs, not scrambled.
    """
    runs = units[:, 0]
    for column in units.T[1:]:
        runs = runs * _STEP + column
    return runs


def to_bucket(hashes: Hashes, bits: int) -> NDArray[np.int64]:
    """Take the place of hashes in a table of ``2**bits`` places.

    Parameters
    ----------
    hashes : ndarray of uint64
        Hashes; one more multiplication spreads them.
    bits : int
        In [1, 62].

    Returns
    -------
    ndarray of int64
        In [0, 2**bits).
    """
    return ((hashes * _FIRST) >> np.uint64(64 - bits)).astype(np.int64)


def _powers(n_wanted: int) -> tuple[Hashes, Hashes]:
    size = max(1 << 17, 1 << (n_wanted - 1).bit_length())
    return _power_table(_BASE, size)[:n_wanted], _power_table(_INVERSE, size)[:n_wanted]


@lru_cache(maxsize=8)
def _power_table(base: int, size: int) -> Hashes:
    factors = np.full(size, base, dtype=np.uint64)
    factors[0] = 1
    return np.multiply.accumulate(factors)
