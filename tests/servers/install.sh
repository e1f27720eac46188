#!/usr/bin/env bash
# Install the servers, and the browser, that tests start, where that can be done without asking: as root, or with a sudo that
# needs no password under CI=true. Elsewhere it says what to install, and the tests that need it are skipped
# (under CI=true a skip fails).
set -uo pipefail

have_postgres() {
    [ -n "${DALENIUS_TEST_POSTGRES:-}" ] && return 0
    command -v initdb >/dev/null && command -v postgres >/dev/null && return 0
    for place in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /opt/homebrew/opt/postgresql*/bin \
        /usr/local/opt/postgresql*/bin /usr/local/pgsql/bin; do
        [ -x "$place/initdb" ] && [ -x "$place/postgres" ] && return 0
    done
    return 1
}

have_java() { # Spark runs on Java 17 or later
    local java="${JAVA_HOME:+$JAVA_HOME/bin/}java"
    command -v "$java" >/dev/null && "$java" -version 2>&1 | grep -Eq 'version "(1[7-9]|[2-9][0-9])'
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif [ "${CI:-}" = true ] && command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        sudo -n "$@"
    else
        return 1
    fi
}

apt_install() {
    command -v apt-get >/dev/null || return 1
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends "$@" ||
        { as_root apt-get update --quiet &&
            as_root env DEBIAN_FRONTEND=noninteractive \
                apt-get install --yes --quiet --no-install-recommends "$@"; }
}

if ! have_postgres; then
    echo "PostgreSQL's server programs are missing; trying to install them for the tests."
    if ! apt_install postgresql || ! have_postgres; then
        echo "They could not be installed. Install PostgreSQL (apt-get install postgresql, brew install"
        echo "postgresql), or set DALENIUS_TEST_POSTGRES to the URL of a server where databases may be made."
    fi
fi
if ! have_java; then
    echo "Java 17 or later is missing; trying to install it for the tests on Spark."
    if ! apt_install default-jre-headless || ! have_java; then
        echo "It could not be installed. Install a Java runtime (apt-get install default-jre-headless, brew"
        echo "install openjdk)."
    fi
fi
if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null &&
    [ -z "${DALENIUS_TEST_CHROMIUM:-}" ]; then
    echo "Chromium is missing; trying to install it for the tests of pages."
    if ! apt_install chromium || ! command -v chromium >/dev/null; then
        echo "It could not be installed. Install Chromium (apt-get install chromium, brew install chromium), or"
        echo "set DALENIUS_TEST_CHROMIUM to the path of a Chromium or Chrome."
    fi
fi
exit 0
