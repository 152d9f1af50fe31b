"""The golden judge and its settings with more time: a pause of two seconds changes no row."""

from voirdire.judging import LiveSettings
from voirdire.testing import GoldenJudge


def patient_judge():
    """Give the golden judge, twice as far behind the deadline where it is late."""
    return GoldenJudge(late_s=8.0)


def patient_settings():
    """Give settings with a deadline that everything but the late row keeps."""
    return LiveSettings(deadline_s=4.0)
