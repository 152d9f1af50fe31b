"""Make ppi_py.json: rates by ppi-python 0.2.3 (needs `pip install ppi-python`); do not edit it."""

import json
from pathlib import Path

import numpy as np
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

CASES = [(1, 120, 800, 0.3, 0.85), (2, 300, 3_000, 0.5, 0.7), (3, 200, 400, 0.2, 0.95)]


def main():
    found = []
    for seed, n_labelled, n_others, share, right in CASES:
        rng = np.random.default_rng(seed)
        true = (rng.random(n_labelled + n_others) < share).astype(float)
        judged = np.where(rng.random(len(true)) < right, true, 1 - true)
        parts = true[:n_labelled], judged[:n_labelled], judged[n_labelled:]
        low, high = ppi_mean_ci(*parts, alpha=0.05)
        row = {"seed": seed, "n_labelled": n_labelled, "n_others": n_others, "share": share}
        row |= {"right": right, "estimate": float(ppi_mean_pointestimate(*parts)[0])}
        found.append(row | {"low": float(low[0]), "high": float(high[0])})
    body = json.dumps({"version": "ppi-python 0.2.3", "cases": found}, indent=1) + "\n"
    (Path(__file__).resolve().parent / "ppi_py.json").write_text(body)


if __name__ == "__main__":
    main()
