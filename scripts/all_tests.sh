#!/bin/sh
# Every test, in two runs side by side: simulations, which keep one core busy for minutes and need no
# coverage, and the rest with coverage. Red where either is; what the simulations printed comes last.
set -u
printed=$(mktemp)
trap 'rm -f "$printed"' EXIT
trap 'kill "$simulations" 2>/dev/null; exit 130' INT TERM

"$PY" -m pytest tests/validity -p no:cacheprovider >"$printed" 2>&1 &
simulations=$!
"$PY" -m pytest --ignore=tests/validity --cov --cov-report=term
rest=$?
wait "$simulations"
simulated=$?
echo "tests/validity:"
cat "$printed"
[ "$rest" -eq 0 ] && [ "$simulated" -eq 0 ]
