#!/bin/sh
# Build the wheel, install it into an environment of its own, and use it away from the sources.
set -eu
VENV=${VENV:-.venv}
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case $VENV in
    /*) python=$VENV/bin/python ;;
    *) python=$root/$VENV/bin/python ;;
esac

"$python" -m pip wheel --quiet --no-deps --wheel-dir "$work/wheel" "$root"
"$python" -m venv "$work/env"
"$work/env/bin/python" -m pip install --quiet --progress-bar off "$work"/wheel/voirdire-*.whl

cd "$work"
"$work/env/bin/python" -W error - "$work/env" <<'PY'
import sys
from pathlib import Path

import voirdire

home = Path(voirdire.__file__)
if not home.is_relative_to(Path(sys.argv[1]).resolve()):
    sys.exit(f"voirdire was imported from {home}, not from the wheel")
if not (home.parent / "py.typed").exists():
    sys.exit("the wheel lacks py.typed")
print("imported from the wheel")
PY
"$work/env/bin/voirdire" --help >"$work/help.txt"
echo "voirdire --help: $(wc -l <"$work/help.txt") lines"
"$work/env/bin/voirdire" demo >"$work/demo.txt" 2>"$work/demo.err" || {
    cat "$work/demo.txt" "$work/demo.err" >&2
    exit 1
}
echo "voirdire demo: $(wc -l <"$work/demo.txt") lines"
