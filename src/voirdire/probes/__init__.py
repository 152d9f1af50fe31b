"""Changes items in controlled ways that leave the answers of a fair judge the same.

`probes` returns them, each with a control; `own_probe` makes one from your function,
`read_own_probes` those of a Python file; `degradations` returns changes for the worse. Attacks are
texts in a response that try to steer the judge: add them to items with `attacked`, judge both, and
let `measure_attacks` count how often the answers changed as an attack wanted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.probes.attack import Attack, AttackFamily, attacked, attacks
    from voirdire.probes.catalogue import neutral_probe, probes
    from voirdire.probes.degradation import degradations
    from voirdire.probes.measuring import AttackReport, SteeringFigures, measure_attacks
    from voirdire.probes.probe import Degradation, Probe, own_probe, read_own_probes

__all__ = [
    "Attack",
    "AttackFamily",
    "AttackReport",
    "Degradation",
    "Probe",
    "SteeringFigures",
    "attacked",
    "attacks",
    "degradations",
    "measure_attacks",
    "neutral_probe",
    "own_probe",
    "probes",
    "read_own_probes",
]

_HOMES = {
    "Attack": "attack",
    "AttackFamily": "attack",
    "AttackReport": "measuring",
    "Degradation": "probe",
    "Probe": "probe",
    "SteeringFigures": "measuring",
    "attacked": "attack",
    "attacks": "attack",
    "degradations": "degradation",
    "measure_attacks": "measuring",
    "neutral_probe": "catalogue",
    "own_probe": "probe",
    "read_own_probes": "probe",
    "probes": "catalogue",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
