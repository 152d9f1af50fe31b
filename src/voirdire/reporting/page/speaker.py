"""The speaker of the page, who knows the phrases of an examination."""

from __future__ import annotations

from typing import ClassVar

from voirdire.reporting.page.phrases import CHINESE, ENGLISH
from voirdire.reporting.page_frame.catalog import Catalog
from voirdire.reporting.page_frame.speaker import Speaker

__all__ = ["ExaminationSpeaker"]


class ExaminationSpeaker(Speaker):
    """Turn what is said of an examination into markup of one language.

    Parameters
    ----------
    language : {"en", "zh"}
        Which.
    """

    catalogs: ClassVar[tuple[Catalog, ...]] = (*Speaker.catalogs, Catalog(ENGLISH, CHINESE))
