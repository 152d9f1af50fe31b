"""The page of a reward: its examination as one HTML file, or as a chapter of another page."""

from voirdire.reporting.reward_page.render import reward_chapter, reward_report, reward_style

__all__ = ["reward_chapter", "reward_report", "reward_style"]
