"""How many items and annotators an examination needs: its power, simulated before it is run."""

from voirdire.stats.planning.assumptions import power
from voirdire.stats.planning.noise_model import NoiseModel, fit_noise_model
from voirdire.stats.planning.result import PowerResult, PowerRow, SmallestSize

__all__ = [
    "NoiseModel",
    "PowerResult",
    "PowerRow",
    "SmallestSize",
    "fit_noise_model",
    "power",
]
