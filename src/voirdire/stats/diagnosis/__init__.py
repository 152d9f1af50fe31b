"""Diagnoses odd annotators, sure items, confusions, and slices of the items."""

from voirdire.stats.diagnosis.confusion import Confusion, confusion_counts
from voirdire.stats.diagnosis.panels import (
    OutlierAnnotators,
    PanelCounts,
    PanelItems,
    outlier_annotators,
    panel_items,
)
from voirdire.stats.diagnosis.slices import SliceResult, compare_slices

__all__ = [
    "Confusion",
    "OutlierAnnotators",
    "PanelCounts",
    "PanelItems",
    "SliceResult",
    "compare_slices",
    "confusion_counts",
    "outlier_annotators",
    "panel_items",
]
