from voirdire.judging.local.card import JudgeCard as JudgeCard
from voirdire.judging.local.card import QuestionFigures as QuestionFigures
from voirdire.judging.local.card import TrainingData as TrainingData
from voirdire.judging.local.distilling import distill_judge as distill_judge
from voirdire.judging.local.judge import LocalJudge as LocalJudge
from voirdire.judging.local.judge import load_local_judge as load_local_judge
