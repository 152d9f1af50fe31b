#!/bin/sh
# Check that the programs outside Python that `make test-all` needs are here; install what is missing
# where this runs as root and apt-get exists, and name it where not.
set -eu

# One line each: the program (or a file, in whatever folder a star stands for), and the Debian package
# that brings it.
needed='
chromium chromium
/usr/share/fonts/truetype/wqy/wqy-microhei.ttc fonts-wqy-microhei
/usr/lib/postgresql/*/bin/initdb postgresql
'

is_here() {
    # shellcheck disable=SC2086  # a star is meant to find files
    for file in $1; do
        [ -e "$file" ] && return 0
    done
    command -v "$1" >/dev/null 2>&1
}

missing=$(echo "$needed" | while read -r program package; do
    [ -z "$program" ] || is_here "$program" || echo "$package"
done)
[ -n "$missing" ] || exit 0

names=$(echo "$missing" | sort -u | tr '\n' ' ')
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "voirdire: \`make test-all\` needs these system packages: ${names}- install them first." >&2
    exit 1
fi
echo "Installing system packages: $names"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086  # several names are meant
apt-get install -y -qq --no-install-recommends $names
