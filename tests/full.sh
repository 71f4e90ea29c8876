#!/usr/bin/env bash
# The full matrix: long random tests on four MPIs, the suite under asan and ubsan (at quick effort: they look at each
# access, not for rare datatypes), and the threads that pack and send under tsan. Each file of tests is a job of its
# own, or several where it takes minutes; JOBS of them run at a time (default: half of the cores, since a test has
# several ranks). Prints the counts at the end, as rows for full-runs.md.
# TESTS_EFFORT=quick tries the machinery in minutes. Arguments: names of runs; by default all.
set -uo pipefail
cd "$(dirname "$0")/.."
effort=${TESTS_EFFORT:-full}
export LOGS=${LOGS:-build/full}
jobs_at_once=${JOBS:-$((($(nproc) + 1) / 2))}
all=(openmpi mpich debian-openmpi debian-mpich asan ubsan tsan)
unset MAKEFLAGS MFLAGS MAKELEVEL # make's own variables are not for the makes in here
[[ $# -gt 0 ]] || set -- "${all[@]}"
rm -rf "$LOGS"
mkdir -p "$LOGS"

prepare() { # RUN: builds what it tests
  case $1 in
    asan | ubsan | tsan)
      make install && PATH=$PWD/.venv/bin:$PATH && cmake --preset "$1" >/dev/null &&
        cmake --build --preset "$1" --target tempi
      ;;
    *) make "$(make -s venv MPI="$1")/.tools" MPI="$1" ;;
  esac
}

effort_of() { # RUN
  case $1 in
    asan | ubsan | tsan) echo "${SANITIZED_EFFORT:-quick}" ;;
    *) echo "$effort" ;;
  esac
}

# Files that take minutes, with the number of pieces that they are run in, the longest first.
shared=(tests/mpi4py_suite/test_mpi4py_suite.py:8 tests/pack/test_random.py:8 tests/send/test_staging.py:6
  tests/send/test_leaks.py:4 tests/send/test_calls.py:6 tests/halo/test_halo_exchange.py:5
  tests/send/test_random_programs.py:4 tests/send/test_progress_threads.py:4 tests/send/test_progress.py:4
  tests/pack/test_narrow_words.py:3 tests/send/test_direct.py:3 tests/datatype/test_rules.py:3
  tests/datatype/test_layout.py:3 tests/pack/test_tuned_launches.py:3 tests/datatype/test_compose.py:2
  tests/oracle/test_typemap.py:2 tests/pack/test_moved_wrongly.py:2 tests/send/test_plain_copies.py:4
  tests/send/test_messages_moved_wrongly.py:2 tests/send/test_ordering.py:2 tests/arrays/test_views.py:2)

shares() {
  local entry number
  for entry in "${shared[@]}"; do
    for ((number = 1; number <= ${entry#*:}; number++)); do echo "${entry%:*}@$number/${entry#*:}"; done
  done
}

pieces() { # RUN: paths, PATH@2/5 for the second of five shares of its tests; the longest first
  case $1 in
    tsan) echo tests/interpose/test_programs.py ;;
    asan | ubsan) ls -d tests/send/test_*.py tests/collective/test_*.py tests/pack tests/window/test_*.py tests/interpose ;;
    *)
      shares
      ls tests/*/test_*.py tests/test_*.py | grep -v '^tests/gpu/' | grep -vxFf <(printf '%s\n' "${shared[@]%:*}")
      ;;
  esac
}

# The MPI library and Python leak by themselves. UCX's memory hooks run on threads that tsan has seen the end of.
sanitized() { # PRESET RUNTIME [pytest arguments]
  env TESTS_SHIM="$PWD/build/$1/libtempi.so" TESTS_PRELOAD_FIRST="$(gcc -print-file-name="$2")" \
    ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
    TSAN_OPTIONS="suppressions=$PWD/tests/support/tsan.supp exitcode=66" \
    OMPI_MCA_pml=ob1 OMPI_MCA_osc=^ucx OMPI_MCA_btl=self,sm UCX_MEM_EVENTS=n \
    make test ARGS="--timeout=0 -p no:cacheprovider ${*:3}"
}

piece() { # RUN PATH[@SHARE]
  local log begin=$SECONDS path=${2%@*} TESTS_EFFORT TESTS_SHARE=
  TESTS_EFFORT=$(effort_of "$1")
  [[ $2 != *@* ]] || TESTS_SHARE=${2#*@}
  export TESTS_EFFORT TESTS_SHARE
  log=$LOGS/$1-$(basename "$path" .py)${TESTS_SHARE:+-${TESTS_SHARE/\//-of-}}.log
  case $1 in
    asan) sanitized asan libasan.so "$path" ;;
    ubsan) sanitized ubsan libubsan.so "$path" ;;
    tsan) sanitized tsan libtsan.so "$path" -k threads ;;
    *) make test MPI="$1" ARGS="--timeout=0 -p no:cacheprovider $path" ;;
  esac >"$log" 2>&1
  local code=$?
  [[ $code -eq 0 || $code -eq 5 ]] || echo "$1 $2: see $log" >>"$LOGS/failed" # 5: nothing to run
  printf '%s %s: %s (%d s)\n' "$1" "$2" "$(grep -E ' in [0-9.]+s' "$log" | tail -n 1 | tr -d '=')" $((SECONDS - begin))
}

counts() { # RUN: the sums over its logs
  cat "$LOGS/$1"-*.log | grep -E ' in [0-9.]+s' | grep -oE '[0-9]+ (passed|failed|skipped|errors?)' |
    awk '{ sub("errors", "error", $2); n[$2] += $1 }
         END { for (word in n) printf "%s%d %s", sep, n[word], word, sep = ", " }'
}

for run in "$@"; do
  prepare "$run" >"$LOGS/prepare-$run" 2>&1 || echo "$run could not be built: see $LOGS/prepare-$run" >>"$LOGS/failed"
done
for run in "$@"; do
  for path in $(pieces "$run"); do
    while [[ $(jobs -rp | wc -l) -ge $jobs_at_once ]]; do wait -n; done
    piece "$run" "$path" &
  done
done
wait

printf '\n==== done in %d s\n| date | command | run | counts |\n|---|---|---|---|\n' "$SECONDS"
for run in "$@"; do
  printf '| %s | `make test-full`, %s | %s | %s |\n' "$(date -u +%F)" "$(effort_of "$run")" "$run" "$(counts "$run")"
done
[[ ! -e $LOGS/failed ]] || { cat "$LOGS/failed" && exit 1; }
