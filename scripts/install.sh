#!/bin/sh
# Make $VENV where it is missing and install into it: `install.sh runtime` the package with its
# dependencies, `install.sh GROUP...` the dependency groups of pyproject.toml.
set -eu
PYTHON=${PYTHON:-python3}
VENV=${VENV:-.venv}
root=$(cd "$(dirname "$0")/.." && pwd -P)
cd "$root"
case $VENV in
    /*) place=$VENV ;;
    *) place=$root/$VENV ;;
esac

fail() {
    echo "voirdire: $*" >&2
    exit 1
}

check_interpreter() {
    command -v "$PYTHON" >/dev/null 2>&1 ||
        fail "\`$PYTHON\` was not found. Install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3."
    "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        fail "Python must be 3.11 or newer, got $("$PYTHON" --version 2>&1). Name a newer one: make PYTHON=/path/to/python3.11."
    "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null ||
        fail "\`$PYTHON\` cannot make virtual environments. Install its venv module (Debian and Ubuntu: the package python3-venv)."
}

# An environment that was moved, or whose interpreter is gone or too old, points elsewhere.
is_usable() {
    "$VENV/bin/python" -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || return 1
    made_as=$(sed -n 's/^command = //p' "$VENV/pyvenv.cfg" 2>/dev/null)
    case "$made_as" in
        "" | *" $place") return 0 ;;
        *) return 1 ;;
    esac
}

make_environment() {
    is_usable && return
    check_interpreter
    echo "Making $VENV with $("$PYTHON" --version 2>&1) ..."
    "$PYTHON" -m venv --clear "$VENV"
}

install() {
    "$VENV/bin/python" -m pip install --quiet --progress-bar off "$@" ||
        fail "installing $* failed; the message above says why. Is there a network?"
}

# Only what gives rewards is tested of these two. It does without a GPU, DeepSpeed, vLLM, and the
# release of transformers that OpenRLHF pins and verl excludes; the group has the rest.
install_executors() {
    if "$VENV/bin/python" -c 'import sys; sys.exit(sys.version_info >= (3, 13))' &&
        [ "$(uname -sm)" = "Linux x86_64" ]; then
        install --no-deps "openrlhf==0.11.2" "verl==0.9.1"
    else
        echo "There are no packages of OpenRLHF and verl for this Python or system; their tests are skipped."
    fi
}

make_environment
if [ "$1" = runtime ]; then
    echo "Installing voirdire and what it needs (half a minute the first time) ..."
    install --upgrade "pip>=25.1"
    install --editable .
else
    echo "Installing the tools of: $* ..."
    # shellcheck disable=SC2046  # one option per group is meant
    install $(printf -- '--group %s ' "$@")
    # irrCAC pins old releases of numpy and scipy, and works with new ones
    case " $* " in *" test "*) install --no-deps "irrCAC==0.4.4" ;; esac
    case " $* " in *" frameworks "*) install_executors ;; esac
fi
conflicts=$("$VENV/bin/python" -m pip check |
    grep -v -e '^irrcac ' -e '^openrlhf ' -e '^verl ' -e '^No broken requirements') || true
[ -z "$conflicts" ] || fail "packages do not fit together: $conflicts"
