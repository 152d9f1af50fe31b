"""Diagnoses odd annotators, sure items, and slices of the items."""

from voirdire.stats.diagnosis.panels import (
    OutlierAnnotators,
    PanelCounts,
    count_panels,
    outlier_annotators,
)
from voirdire.stats.diagnosis.slices import SliceResult, compare_slices

__all__ = [
    "OutlierAnnotators",
    "PanelCounts",
    "SliceResult",
    "compare_slices",
    "count_panels",
    "outlier_annotators",
]
