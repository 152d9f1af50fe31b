"""A server whose judge does what the responses tell it; run with its settings as JSON.

The judge is the one of the golden table, which finds words. With these words it
  raises    raises an error that quotes the response,
  sleeps    takes half a second,
  hangs     waits until a file is there whose path is the last word of the response,
  nothing   gives nan.
"""

import json
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from voirdire.judging import LiveSettings
from voirdire.rewards import LiveReward
from voirdire.testing import GoldenJudge, golden_reward
from voirdire.web import ServerSettings, serve


@dataclass(frozen=True, kw_only=True)
class OddJudge(GoldenJudge):
    def probabilities(self, items):
        for item in items:
            if "raises" in item.response:
                raise ValueError(item.response)
            if "sleeps" in item.response:
                time.sleep(0.5)
            if "hangs" in item.response:
                wait_for(Path(item.response.split()[-1]))
        found = super().probabilities(items)
        found[["nothing" in item.response for item in items]] = np.nan
        return found


def wait_for(path):
    end = time.monotonic() + 60
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.01)


def tell(url):
    print(url, flush=True)


def make(live):
    """Make what is served; each worker does."""
    given = {"judge": OddJudge(late_s=8.0), "base_column": live.pop("base_column", None)}
    return LiveReward(golden_reward(), settings=LiveSettings(**live), **given)


def main():
    told = json.loads(sys.argv[1])
    json_log = told["server"].pop("json_log", False)
    settings = ServerSettings(**told["server"])
    live = partial(make, told["live"])
    serve(
        live if settings.workers > 1 else live(),
        settings=settings,
        port=told["port"],
        started=tell,
        json_log=json_log,
    )


if __name__ == "__main__":
    main()
