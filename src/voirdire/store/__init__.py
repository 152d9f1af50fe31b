"""Stores models' replies and people's answers in SQLite by default, or in PostgreSQL for teams.

SQLAlchemy is imported when the first name that needs it is used.
"""

from voirdire import _lazy

__all__, __getattr__, __dir__ = _lazy.lazy_names(__name__)
