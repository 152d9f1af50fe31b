from voirdire.adapters.guarded import GuardedReward as GuardedReward
from voirdire.adapters.guarded import NumberReward as NumberReward
from voirdire.adapters.plain import RewardFunction as RewardFunction
from voirdire.adapters.plain import reward_function as reward_function
