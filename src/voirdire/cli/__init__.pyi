from voirdire.cli.entry import run as run
from voirdire.cli.main import app as app
