#!/usr/bin/env bash
# Installs Chromium from Debian's packages, for the tests of the report, unless it is there.
set -euo pipefail
if command -v chromium > /dev/null; then
    exit 0
fi
if ! command -v apt-get > /dev/null; then
    echo "Chromium is missing and there is no apt-get; install the package chromium by hand" >&2
    exit 1
fi
as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}
export DEBIAN_FRONTEND=noninteractive
as_root apt-get update -qq
as_root apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core
