"""What the page of a reward says, one catalog per language: keys under ``reward.``."""

from voirdire.reporting.reward_page.phrases.en import ENGLISH
from voirdire.reporting.reward_page.phrases.zh import CHINESE

__all__ = ["CHINESE", "ENGLISH"]
