"""Changes items in controlled ways that leave the answers of a fair judge the same.

`probes` returns them, each with a control. Attacks are texts in a response that try to steer the
judge: add them to items with `attacked`, and judge both.
"""

from voirdire import _lazy

__all__, __getattr__, __dir__ = _lazy.lazy_names(__name__)
