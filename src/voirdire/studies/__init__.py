"""Join judges with annotators, run the examinations, keep the record."""

from voirdire.studies.alt_test import alt_test, outperforms_humans

__all__ = ["alt_test", "outperforms_humans"]
