from voirdire.judging.engine import LiveState as LiveState
from voirdire.judging.settings import LiveSettings as LiveSettings
from voirdire.rewards.live.live_reward import LiveReward as LiveReward
from voirdire.rewards.live.missing_numbers import MissingRewards as MissingRewards
from voirdire.rewards.live.turns import LiveScores as LiveScores
from voirdire.rewards.live.turns import Turn as Turn
