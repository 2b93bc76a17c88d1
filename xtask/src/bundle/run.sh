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
    started=$(date +%s)
    { "$@" 2>&1; echo $? > "$RESULTS/$name.status"; } | tee "$RESULTS/$name.log"
    status=$(cat "$RESULTS/$name.status")
    rm -f "$RESULTS/$name.status"
    echo "== $name took $(($(date +%s) - started)) s"
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

# What `cargo xtask benchmarks --from RESULTS` reads: some eight minutes on a machine with sixteen cores. The most important figures come
# first, so that there is something to keep if time runs out.
bench() {
    gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1 | sed 's/, /, driver /')
    cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
    printf '%s\n%s\n%s\n' "$(cat commit)" "$(date -u +%F)" "$gpu, $cpu, $(nproc) cores" > "$RESULTS/machine.txt"
    # rates NAME OPTION...: a table of `aes-bitslice bench`.
    rates() {
        name=bench-$1
        shift
        step "$name" ./aes-bitslice bench --force --json "$RESULTS/$name.json" "$@"
    }
    rates device --backends cuda --timings device,new-key --runs 20 --key-bits 128,192,256 \
        --modes ctr,keystream,ecb-encrypt,ecb-decrypt,cbc-decrypt --sizes 1MiB,4MiB,16MiB,64MiB,256MiB,1GiB,4GiB
    rates gcm --backends cuda --timings device --runs 20 --modes gcm,gcm-siv,gmac --sizes 1MiB,16MiB,256MiB,1GiB,4GiB
    rates tables --backends cuda --timings device --runs 20 --modes ctr,ecb-encrypt --kernel tbox,co-resident --sizes 256MiB,4GiB
    rates xts --backends cuda --timings device --runs 20 --modes xts-encrypt,xts-decrypt --sizes 1MiB,16MiB,256MiB,4GiB
    # many NAME OPTION...: calls on many messages, alone and in a row.
    many() {
        name=$1
        shift
        rates "$name" --backends cuda --timings device,stream --runs 9 "$@"
    }
    many gcm-batch --modes gcm --sizes 4096x16KiB,44739x1500,262144x256
    rates gcm-arrays --backends cuda --timings stream-arrays --runs 9 --modes gcm --sizes 4096x16KiB,44739x1500,262144x256
    many cmac --modes cmac --sizes 4096x16KiB,65536x1500,1048576x64
    many jobs --modes ctr,ecb-decrypt --sizes 1024x64KiB,16384x64KiB,65536x4KiB,262144x512
    many few-keys --modes ctr --keys 64 --sizes 16384x64KiB
    rates host --backends cuda,cpu,cpu-bitsliced --timings host,host-in-place,pinned,pinned-in-place --modes ctr --key-bits 128 \
        --sizes 64KiB,1MiB,16MiB,256MiB,4GiB
    rates cpu --backends cpu --timings host-in-place --runs 200 --modes gcm-encrypt --sizes 16KiB,1MiB,64MiB
    step many-keys example device_many_keys
    step sealed sealed
}

# example NAME ARGUMENT...: runs an example of this folder.
example() {
    program=examples/aes-bitslice-runtime-$1
    shift
    "$program" "$@"
}

# The rates of `seal`, `open` and `cp` on a file of 4 GiB in $FILES, which is to be in memory and to have 16 GiB: whole commands by the
# clock, medians of five.
sealed() {
    files=$(mktemp -d "${FILES:-/dev/shm}/bench.XXXXXX") || return 1
    bytes=4294967296
    ./aes-bitslice keygen --bits 256 -o "$files/key" &&
        ./aes-bitslice keystream --quiet -k "$files/key" --bytes $bytes -o "$files/data" || { rm -rf "$files"; return 1; }
    for backend in cpu cuda; do
        set -- --quiet --force --backend $backend -k "$files/key"
        # The first run of each is not timed.
        for run in 0 1 2 3 4 5; do
            timed "seal $backend" ./aes-bitslice seal "$@" -o "$files/sealed" "$files/data" &&
                timed "open $backend" ./aes-bitslice open "$@" -o "$files/opened" "$files/sealed" || break 2
            [ $run != 0 ] || cmp "$files/data" "$files/opened" || break 2
            [ $backend != cpu ] || timed cp cp "$files/data" "$files/opened"
        done
        done=$backend
    done
    for times in "$files"/*.times; do
        what=$(basename "$times" .times)
        sed 1d "$times" | sort -n | sed -n 3p | awk -v what="$what" -v bytes=$bytes '{ print what, bytes / $1 }'
    done
    rm -rf "$files"
    [ "${done:-}" = cuda ]
}

# timed NAME COMMAND...: adds the command's nanoseconds to the list of this name.
timed() {
    times=$files/$1.times
    shift
    begin=$(date +%s%N)
    "$@" || return 1
    echo $(($(date +%s%N) - begin)) >> "$times"
}

papers() {
    step papers ./aes-bitslice-papers measure --commit "$(cat commit)" --out "$RESULTS/papers.json"
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
