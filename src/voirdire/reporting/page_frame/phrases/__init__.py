"""What every page says, whatever it is about: one catalog per language, with the same keys.

The catalogs of the pages have their own words beside it, and never the same key.
"""

from voirdire.reporting.page_frame.phrases.en import PHRASES as ENGLISH
from voirdire.reporting.page_frame.phrases.zh import PHRASES as CHINESE

__all__ = ["CHINESE", "ENGLISH"]
