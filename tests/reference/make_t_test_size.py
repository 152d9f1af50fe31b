"""Make t_test_size.json, the exact size of the t-test; run with the interpreter of the tests."""

import json
import sys
from pathlib import Path

import numpy as np
import scipy

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from alt_test_oracle import t_test_size  # noqa: E402

SIZES = (15, 20, 30, 50, 100, 200)
TIES = (0.2, 0.4, 0.6, 0.8)
EPSILONS = (0.1, 0.2)


def main():
    rows = [
        {"epsilon": e, "tie_share": t, "n": n, "size": round(t_test_size(n, t, e), 6)}
        for e in EPSILONS
        for t in TIES
        for n in SIZES
    ]
    note = (
        "do not edit: made by tests/reference/make_t_test_size.py with "
        f"numpy {np.__version__}, scipy {scipy.__version__}; alpha .05, additive epsilon"
    )
    text = ",\n".join("    " + json.dumps(row) for row in rows)
    body = f'{{\n  "note": {json.dumps(note)},\n  "rows": [\n{text}\n  ]\n}}\n'
    (HERE / "t_test_size.json").write_text(body)


if __name__ == "__main__":
    main()
