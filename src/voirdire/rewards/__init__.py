"""From verdicts to rewards: features, comparisons, the fit, the reward model and its scores.

Nothing heavy is imported here: numpy arrives with the first name that is used.
"""

from voirdire import _lazy

__all__, __getattr__, __dir__ = _lazy.lazy_names(__name__)
