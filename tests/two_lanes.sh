#!/usr/bin/env bash
# The whole suite by two processes: most tests keep one core busy. The output of the second one comes at the end. Exit
# code 1: a test of either has failed. Each file is run by the process that comes to it first (tests/support/lanes.py).
set -uo pipefail
cd "$(dirname "$0")/.."
unset PYTHONDONTWRITEBYTECODE # each of hundreds of ranks would compile the tests' modules again
folder=$(mktemp -d)
mkdir "$folder/files"
TESTS_LANE=2:$folder/files python -m pytest -p no:cacheprovider "$@" >"$folder/second" 2>&1 &
other=$!
trap 'rm -rf "$folder"; kill "$other" 2>/dev/null' EXIT
TESTS_LANE=1:$folder/files python -m pytest "$@"
code=$?
wait "$other" || code=1
cat "$folder/second"
[[ $code -eq 0 ]] && echo "all tests passed" || echo "tests failed: see above"
exit "$code"
