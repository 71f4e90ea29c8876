#!/usr/bin/env bash
# The whole suite by two processes: most tests keep one core busy. The output of the second one comes at the end. Exit
# code 1: a test of either has failed.
set -uo pipefail
cd "$(dirname "$0")/.."
second=$(mktemp)
python -m pytest tests --ignore=tests/send -p no:cacheprovider >"$second" 2>&1 &
other=$!
trap 'rm -f "$second"; kill "$other" 2>/dev/null' EXIT
python -m pytest tests/send
code=$?
wait "$other" || code=1
cat "$second"
[[ $code -eq 0 ]] && echo "all tests passed" || echo "tests failed: see above"
exit "$code"
