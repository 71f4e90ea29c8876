#!/usr/bin/env bash
# All GPU tests of one machine, in under five minutes and without a network: installs the package aside (build/gpu-site,
# nothing else is changed), runs tests/gpu, tests/examples, and tests/send, tests/collective, tests/arrays and tests/halo on GPU memory, tests/pack with the fake device, and the kernels under compute-sanitizer.
# Needs nvcc, CMake, an MPI, and Python with pip, scikit-build-core, pybind11, mpi4py, CuPy, SciPy, pytest and hypothesis (and
# Numba for the tests of its arrays).
set -uo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
logs=${OUT:-build/gpu-logs}
site=$PWD/build/gpu-site
export PYTHONPATH=$site${PYTHONPATH:+:$PYTHONPATH}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mkdir -p "$logs"

install() {
  rm -rf "$site"
  "$python" -m pip install -q --no-index --no-build-isolation --no-deps --config-settings=build-dir=build/gpu --target "$site" . &&
    grep "TEMPI_HAVE_CUDA 1" build/gpu/generated/tempi_config.h
}

tests() { # EFFORT [pytest arguments]
  TESTS_EFFORT=$1 "$python" -m pytest -q -p no:cacheprovider "${@:2}"
}

# Messages and collective calls on GPU memory, without injected failures.
messages() {
  local kinds=host,device,managed,pinned,pool,async
  [[ $(nvidia-smi -L | wc -l) -gt 1 ]] && kinds+=",device 1"
  TESTS_MEMORY=gpu TESTS_SEND_KINDS=$kinds tests quick tests/send tests/collective tests/window tests/arrays tests/halo/test_halo_exchange.py -k "not failing_devices and not leaks and not fortran"
}

# Random datatypes in device memory, long lists and tables; reductions. A finding ends the child process with 66, and so its test.
# The driver's answer to a pointer query is no error.
sanitizer() { # TOOL
  local tool
  tool=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | tail -n 1)
  [[ -n $tool ]] || { echo "0 passed: no compute-sanitizer on this machine" && return 1; }
  export TESTS_WRAPPER="$tool --tool $1 --error-exitcode 66 --report-api-errors no --target-processes all"
  TESTS_MEMORY=gpu tests quick tests/collective/test_reduce_local.py -k test_counts &&
    tests quick tests/gpu/test_gpu_random.py -k "within_device_memory or long_lists"
}

failed=0 rows=()
step() { # NAME SECONDS COMMAND...
  local begin=$SECONDS result=ok counts
  echo "==== $1"
  timeout "$2" bash -uo pipefail -c '"$@"' - "${@:3}" >"$logs/$1.log" 2>&1 || { result=FAILED && failed=1; }
  tail -n 15 "$logs/$1.log"
  counts=$(grep -E '[0-9]+ (passed|failed|skipped|error).* in [0-9.]+s' "$logs/$1.log" | tail -n 1 | tr -d '=')
  rows+=("$(printf '%-10s %-7s %4d s  %s' "$1" $result $((SECONDS - begin)) "$counts")")
}

export python site logs
export -f install tests messages sanitizer
step install 120 install
step gpu 100 tests quick tests/gpu tests/examples
step messages 150 messages
step pack-fake 60 tests quick tests/pack
step memcheck 60 sanitizer memcheck
step racecheck 60 sanitizer racecheck

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | sort | uniq -c
printf '==== done in %d s; logs in %s\n' "$SECONDS" "$logs"
printf '%s\n' "${rows[@]}"
exit $failed
