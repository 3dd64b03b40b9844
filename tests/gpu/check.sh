#!/usr/bin/env bash
# The GPU part of the suite on a machine with a GPU; appends its results to docs/reference/gpu-check.md. Needs Python 3.11 or
# later, gcc, pytest-dlbench with its tests' requirements (pip install -e ".[test]") and about 50 GiB of disk: it builds
# the environments for GPUs that this machine can run.
#
#   tests/gpu/check.sh [--here] [OPTION…]    --here: build nothing, run the frameworks of this Python. Options of the
#                                            session of bench: --dlbench-models gatech-lenet
set -euo pipefail
builds=(--dlbench-build)
if [ "${1-}" = --here ]; then
    builds=()
    shift
fi
cd "$(dirname "$0")/../.."
report=docs/reference/gpu-check.md
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

fail() {
    printf 'gpu check: %s\n' "$*" >&2
    exit 1
}

nvidia-smi >/dev/null || fail "nvidia-smi found no GPU: this script needs a machine with one"
python -c "import pynvml" || fail "nvidia-ml-py is not installed: pip install -e '.[test]'"

status=0
python -m pytest tests/gpu/real_gpu.py tests/gpu/test_seen.py tests/sampling/test_nvml.py \
    tests/sampling/test_gpu.py tests/sampling/test_observer.py tests/running/test_devices.py tests/plugin/test_gpus.py \
    -p no:cacheprovider -q 2>&1 | tee "$results/tests.txt" || status=1
python -m pytest bench -m "gpu and (training or equivalence)" --dlbench-frameworks all --dlbench-scale smoke \
    --dlbench-runs 1 --dlbench-timeout 600 "${builds[@]}" --dlbench-journals "$results/journal" -p no:cacheprovider \
    "$@" 2>&1 | tee "$results/bench.txt" || status=1

{
    printf '\n## %s\n\n' "$(date -u +%Y-%m-%d)"
    printf -- '- GPU and driver: %s\n' "$(nvidia-smi --query-gpu=name,driver_version,mig.mode.current --format=csv,noheader | paste -sd ';')"
    printf -- '- commit: %s\n' "$(git rev-parse --short HEAD)"
    printf -- '- GPU tests: %s\n' "$(tail -n 1 "$results/tests.txt")"
    # pytest's counts, and then how the cases ended.
    printf -- '- bench -m "gpu and (training or equivalence)" at scale smoke: %s\n' "$(tail -n 2 "$results/bench.txt" | paste -sd ';')"
    python -m tests.gpu.seen "$results/journal"
} >>"$report"
echo "added to $report"
exit "$status"
