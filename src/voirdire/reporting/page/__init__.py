"""The page: an examination as one HTML file, in English or Chinese."""

from voirdire.reporting.page.render import html_report

__all__ = ["html_report"]
