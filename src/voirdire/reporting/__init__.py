"""Results as text, tables and JSON."""

from voirdire.reporting.as_json import certificate_to_json, examination_to_json
from voirdire.reporting.terminal import ExaminationTables

__all__ = ["ExaminationTables", "certificate_to_json", "examination_to_json"]
