#!/bin/sh
# Every test, in two runs side by side, since most tests keep one core busy. Simulations need no
# coverage and go without. Red where either run is; what the second one printed comes last.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'kill "$second" 2>/dev/null; exit 130' INT TERM

judging="tests/judging tests/models tests/store tests/attacks tests/servers tests/adapters tests/web"
ignored=$(for folder in $judging tests/validity; do printf -- '--ignore=%s ' "$folder"; done)
covered="--cov --cov-report= --cov-fail-under=0"

run_second() {
    # shellcheck disable=SC2086  # several words are meant, here and below
    COVERAGE_FILE=$work/.coverage.second "$PY" -m pytest $judging $covered -p no:cacheprovider
    judged=$?
    "$PY" -m pytest tests/validity -p no:cacheprovider
    simulated=$?
    [ "$judged" -eq 0 ] && [ "$simulated" -eq 0 ]
}

run_second >"$work/printed" 2>&1 &
second=$!
# shellcheck disable=SC2086
COVERAGE_FILE=$work/.coverage.first "$PY" -m pytest tests $ignored $covered
first=$?
wait "$second"
second=$?
cat "$work/printed"
[ "$first" -eq 0 ] && [ "$second" -eq 0 ] || exit 1
"$PY" -m coverage combine --quiet --data-file="$work/.coverage" "$work"/.coverage.first "$work"/.coverage.second &&
    "$PY" -m coverage report --data-file="$work/.coverage"
