"""Changes items in controlled ways that leave the answers of a fair judge the same.

`probes` returns them, each with a control. Attacks are texts in a response that try to steer the
judge: add them to items with `attacked`, and judge both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.probes.attack import Attack, AttackFamily, attacked, attacks
    from voirdire.probes.catalogue import neutral_probe, probes
    from voirdire.probes.probe import Probe

__all__ = [
    "Attack",
    "AttackFamily",
    "Probe",
    "attacked",
    "attacks",
    "neutral_probe",
    "probes",
]

_HOMES = {
    "Attack": "attack",
    "AttackFamily": "attack",
    "Probe": "probe",
    "attacked": "attack",
    "attacks": "attack",
    "neutral_probe": "catalogue",
    "probes": "catalogue",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
