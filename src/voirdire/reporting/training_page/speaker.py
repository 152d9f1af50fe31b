"""The speaker of the page, who knows the phrases of a training run."""

from __future__ import annotations

from typing import Any, ClassVar

from markupsafe import Markup

from voirdire.reporting.page_frame.catalog import Catalog
from voirdire.reporting.page_frame.shown import one_line
from voirdire.reporting.page_frame.speaker import Speaker
from voirdire.reporting.training_page.phrases import CHINESE, ENGLISH
from voirdire.reporting.training_page.speech import Argument

__all__ = ["TrainingSpeaker"]

_ARGUMENT_WIDTH = 300


class TrainingSpeaker(Speaker):
    """Turn what is said of a training run into markup of one language.

    Parameters
    ----------
    language : {"en", "zh"}
        Which.
    """

    catalogs: ClassVar[tuple[Catalog, ...]] = (*Speaker.catalogs, Catalog(ENGLISH, CHINESE))

    def _spoken(self, value: Any) -> Markup:
        if isinstance(value, Argument):
            return Markup("<bdi>{}</bdi>").format(one_line(value.text, width=_ARGUMENT_WIDTH))
        return super()._spoken(value)
