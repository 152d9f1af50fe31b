from voirdire.probes.attack import Attack as Attack
from voirdire.probes.attack import AttackFamily as AttackFamily
from voirdire.probes.attack import attacked as attacked
from voirdire.probes.attack import attacks as attacks
from voirdire.probes.catalogue import neutral_probe as neutral_probe
from voirdire.probes.catalogue import probes as probes
from voirdire.probes.probe import Probe as Probe
