"""The page of a training run: what happened to the reward and to the responses, as one file."""

from voirdire.reporting.training_page.render import training_report

__all__ = ["training_report"]
