"""Results as text, tables and JSON."""

from voirdire.reporting.as_json import certificate_to_json, examination_to_json
from voirdire.reporting.terminal import examination_tables

__all__ = ["certificate_to_json", "examination_tables", "examination_to_json"]
