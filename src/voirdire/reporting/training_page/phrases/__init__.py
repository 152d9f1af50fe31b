"""What the page of a training run says, one catalog per language: keys under ``training.``."""

from voirdire.reporting.training_page.phrases.en import ENGLISH
from voirdire.reporting.training_page.phrases.zh import CHINESE

__all__ = ["CHINESE", "ENGLISH"]
