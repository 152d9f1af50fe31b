from voirdire.annotation.assignment import Task as Task
from voirdire.annotation.assignment import assign_people as assign_people
from voirdire.annotation.assignment import draw_order as draw_order
from voirdire.annotation.assignment import list_tasks as list_tasks
from voirdire.annotation.study import COORDINATOR as COORDINATOR
from voirdire.annotation.study import Study as Study
from voirdire.annotation.study import open_study as open_study
from voirdire.annotation.study import start_study as start_study
