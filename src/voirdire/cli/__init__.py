"""The command line: read, call one public function, print."""

from voirdire.cli.main import app, run

__all__ = ["app", "run"]
