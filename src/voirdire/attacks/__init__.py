"""Attacks on judges: texts that try to steer whoever judges the response they stand in.

Put them onto items of your own with `attacked`, judge both, and let `measure_attacks` say how
often the answers went where an attack wanted them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.attacks.attack import Attack, AttackFamily, attacked
    from voirdire.attacks.catalogue import attacks
    from voirdire.attacks.measuring import AttackReport, SteeringFigures, measure_attacks

__all__ = [
    "Attack",
    "AttackFamily",
    "AttackReport",
    "SteeringFigures",
    "attacked",
    "attacks",
    "measure_attacks",
]

_HOMES = {
    "Attack": "attack",
    "AttackFamily": "attack",
    "AttackReport": "measuring",
    "SteeringFigures": "measuring",
    "attacked": "attack",
    "attacks": "catalogue",
    "measure_attacks": "measuring",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
