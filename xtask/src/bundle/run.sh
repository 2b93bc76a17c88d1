#!/bin/sh
# Runs the tests, examples, sanitizer and benchmarks of this folder on a machine with an NVIDIA GPU.
#
#   ./run.sh [test|sanitize|bench|papers|all]      default: all
#
# What they print goes to the folder that $RESULTS names (default: results next to this script) as well. Ends with 1
# if anything failed. AES_BITSLICE_LARGE=1 in the environment adds the tests of buffers above 4 GiB.
set -u
cd "$(dirname "$0")" || exit 1
RESULTS=${RESULTS:-results}
mkdir -p "$RESULTS" || exit 1
# Where NVRTC is on most machines that have it.
if [ -d /usr/local/cuda/lib64 ]; then
    LD_LIBRARY_PATH=/usr/local/cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
fi
# A test that finds no GPU here has failed.
export AES_BITSLICE_REQUIRE_GPU=1
# The tests do all there is to do; 0 is for those of a few minutes.
AES_BITSLICE_EXHAUSTIVE=${AES_BITSLICE_EXHAUSTIVE:-1}
export AES_BITSLICE_EXHAUSTIVE
# Which kernels run does not depend on what was tuned on this machine.
AES_BITSLICE_CACHE=$(mktemp -d) || exit 1
export AES_BITSLICE_CACHE
trap 'rm -rf "$AES_BITSLICE_CACHE"' EXIT
failed=

# step NAME COMMAND...: runs it, keeps what it prints, remembers whether it failed.
step() {
    name=$1
    shift
    echo "== $name: $*"
    { "$@" 2>&1; echo $? > "$RESULTS/$name.status"; } | tee "$RESULTS/$name.log"
    status=$(cat "$RESULTS/$name.status")
    rm -f "$RESULTS/$name.status"
    if [ "$status" != 0 ]; then
        echo "== $name FAILED ($status)"
        failed="$failed $name"
    fi
}

info() {
    step info ./aes-bitslice info
    if command -v nvidia-smi > /dev/null; then
        step nvidia-smi nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,memory.total --format=csv
    fi
}

tests() {
    for program in tests/* examples/*; do
        step "$(echo "$program" | tr / -)" "$program"
    done
    # Unit tests that need a device run only where they are asked for.
    unit=tests/aes-bitslice-runtime-aes_bitslice_runtime
    step unit-cuda "$unit" --ignored cuda --skip several
    if [ "$(nvidia-smi --list-gpus 2> /dev/null | wc -l)" -gt 1 ]; then
        step unit-several "$unit" --ignored cuda::several
    fi
    if [ "${AES_BITSLICE_REQUIRE_OPENCL:-0}" != 0 ]; then
        step unit-opencl "$unit" --ignored opencl
    fi
}

sanitize() {
    sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
    if [ ! -x "$sanitizer" ]; then
        echo "== compute-sanitizer was not found: nothing was sanitized"
        failed="$failed sanitize"
        return
    fi
    # Some tests ask for what cannot be, and an error is the right answer; errors of calls that ought to work fail the
    # tests themselves.
    for tool in "memcheck --report-api-errors no" racecheck initcheck; do
        # shellcheck disable=SC2086  # an option is a word of its own
        step "${tool%% *}" env AES_BITSLICE_SMALL=1 "$sanitizer" --tool $tool --error-exitcode 9 \
            tests/tests-gpu --test-threads 1
    done
}

bench() {
    step bench ./aes-bitslice bench --all --json "$RESULTS/bench.json" --plot "$RESULTS/bench.svg" --force
    step bench-host ./aes-bitslice bench --modes ecb-encrypt,ctr --sizes 2GiB --timings host --backends cuda \
        --json "$RESULTS/bench-host.json" --force
    step bench-kernels ./aes-bitslice bench --kernel auto,tbox,co-resident --sizes 256MiB,1GiB,4GiB --timings device \
        --backends cuda --json "$RESULTS/bench-kernels.json" --force
    step tune ./aes-bitslice tune --dry-run
}

papers() {
    step papers ./aes-bitslice-papers measure --out "$RESULTS/papers.json"
}

case ${1:-all} in
test) info; tests ;;
sanitize) sanitize ;;
bench) info; bench ;;
papers) info; papers ;;
all) info; tests; sanitize; bench; papers ;;
*) echo "usage: ./run.sh [test|sanitize|bench|papers|all]" >&2; exit 2 ;;
esac
if [ -n "$failed" ]; then
    echo "== FAILED:$failed"
    exit 1
fi
echo "== all passed"
