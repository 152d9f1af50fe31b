"""What the page says: one catalog per language, with the same keys and the same figures in them.

A phrase is markup of ours with the names of its figures in braces. Keys are words with dots;
``note.``, ``topic.`` and ``todo.`` end in the code of a reason or a caution.
"""

from voirdire.reporting.page.phrases.en import ENGLISH
from voirdire.reporting.page.phrases.zh import CHINESE

__all__ = ["CHINESE", "ENGLISH"]
