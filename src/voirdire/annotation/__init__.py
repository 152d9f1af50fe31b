"""People label: a study of items, the page on which they are labelled, the table of their labels.

Starlette and SQLAlchemy are imported when the first name that needs them is used.
"""

from voirdire import _lazy

__all__, __getattr__, __dir__ = _lazy.lazy_names(__name__)
