"""Power curves as the bytes of a picture file."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from voirdire.stats.power_analysis import PowerResult

__all__ = ["PictureFormat", "power_picture"]

PictureFormat: TypeAlias = Literal["svg", "png", "pdf"]

_METADATA: dict[PictureFormat, dict[str, Any]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
    "png": {},
}
"""What keeps the time of drawing out of the file."""


def power_picture(result: PowerResult, *, file_format: PictureFormat) -> bytes:
    """Draw power against the number of items; the same result gives the same bytes.

    Parameters
    ----------
    result : PowerResult
        What was found.
    file_format : {"svg", "png", "pdf"}
        Of the picture.

    Returns
    -------
    bytes
        The whole file.
    """
    from voirdire.reporting.plots import draw_power
    from voirdire.reporting.plots.style import settings

    figure = draw_power(result)
    picture = io.BytesIO()
    with settings({"svg.hashsalt": "voirdire"}):  # ids that do not change from run to run
        figure.savefig(picture, format=file_format, metadata=_METADATA[file_format])
    return picture.getvalue()
