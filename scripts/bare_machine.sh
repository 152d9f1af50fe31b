#!/bin/sh
# Run a command as on a bare machine: the fonts, browsers and PostgreSQL of this one are hidden.
# That needs root and Linux; elsewhere the command runs as it is, and a line on stderr says so.
# Usage: scripts/bare_machine.sh make test
set -eu

if [ "${1:-}" = "--hidden" ]; then
    shift
    empty=$1
    shift
    for folder in /usr/share/fonts /usr/local/share/fonts /usr/lib/postgresql \
        "${HOME:-/root}/.fonts" "${HOME:-/root}/.local/share/fonts"; do
        if [ -d "$folder" ]; then
            mount -t tmpfs -o ro none "$folder"
        fi
    done
    # A file that nobody may execute, not even root, stands in the place of each program.
    for name in chromium chromium-browser google-chrome psql initdb pg_ctl postgres; do
        IFS=:
        for folder in $PATH; do
            if [ -f "$folder/$name" ]; then
                mount --bind "$empty/nothing" "$(readlink -f "$folder/$name")"
            fi
        done
        unset IFS
    done
    exec "$@"
fi

if [ "$#" -eq 0 ]; then
    echo "usage: scripts/bare_machine.sh COMMAND [ARGUMENT ...]" >&2
    exit 2
fi
if [ "$(id -u)" -ne 0 ] || ! unshare --mount true 2>/dev/null; then
    echo "bare_machine.sh: nothing can be hidden here; the command runs as it is." >&2
    exec "$@"
fi

empty=$(mktemp -d)
trap 'rm -rf "$empty"' EXIT
: >"$empty/nothing"
chmod 0644 "$empty/nothing"
unset CHROMIUM
# matplotlib keeps a list of the fonts that it once found.
MPLCONFIGDIR=$empty/matplotlib unshare --mount --propagation private sh "$0" --hidden "$empty" "$@"
