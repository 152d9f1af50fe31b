"""Figures as the bytes of a picture file."""

from __future__ import annotations

import io
from typing import Any, Literal, TypeAlias

__all__ = ["PictureFormat", "draw_picture"]

PictureFormat: TypeAlias = Literal["svg", "png", "pdf"]

_METADATA: dict[PictureFormat, dict[str, Any]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
    "png": {},
}
"""What keeps the time of drawing out of the file."""


def draw_picture(result: Any, *, file_format: PictureFormat) -> bytes:
    """Draw a result as `voirdire.plot` does; the same result gives the same bytes.

    Parameters
    ----------
    result : PowerResult, ProbeReport or other
        What was found.
    file_format : {"svg", "png", "pdf"}
        Of the picture.

    Returns
    -------
    bytes
        The whole file.
    """
    from voirdire.reporting.plots import plot
    from voirdire.reporting.plots.style import use_settings

    figure = plot(result)
    picture = io.BytesIO()
    with use_settings({"svg.hashsalt": "voirdire"}):  # ids that do not change from run to run
        figure.savefig(picture, format=file_format, metadata=_METADATA[file_format])
    return picture.getvalue()
