#!/usr/bin/env bash
# The interface of the first harness: positional arguments and environment variables,
# handed on to tunebench run. It deletes nothing: NO_OVERWRITE=false has to say so.
#
# usage: run_benchmarks.sh [NUM_GPUS [EFFECTIVE_BATCH_SIZES [RESULT_DIR [SCENARIOS [FILTER]]]]]
#   NUM_GPUS               numbers of GPUs, separated by blanks        (1 2)
#   EFFECTIVE_BATCH_SIZES  separated by blanks                         (4 8)
#   RESULT_DIR             where the results go                        (benchmark_outputs)
#   SCENARIOS              scenario file                               (scenarios.yaml)
#   FILTER                 names of scenarios, separated by blanks     (all that are not slow)
# environment:
#   MEMORY_LOGGING         nvidia, huggingface, all or none            (huggingface)
#   DRY_RUN                true: print the plan, run nothing
#   NO_DATA_PROCESSING     true: DATA_PATH is not handed on
#   DATA_PATH              ready training data
#   NO_OVERWRITE           true: go on in a folder with results; false: forget its records; unset: refuse
#   FRAMEWORK_CONFIGS, DEFAULTS, ACCELERATE_CONFIG, TUNEBENCH   paths, where the defaults do not fit
set -euo pipefail

commas() { local IFS=' '; set -- $1; IFS=','; printf '%s' "$*"; }

num_gpus=$(commas "${1:-1 2}")
batch_sizes=$(commas "${2:-4 8}")
result_dir=${3:-benchmark_outputs}
scenarios=${4:-scenarios.yaml}
filter=$(commas "${5:-}")
export MEMORY_LOGGING=${MEMORY_LOGGING:-huggingface}

args=(--num-gpus "$num_gpus" --batch-sizes "$batch_sizes" --out "$result_dir")
[ -n "$filter" ] && args+=(--only "$filter")
[ -n "${FRAMEWORK_CONFIGS:-}" ] && args+=(--framework-configs "$FRAMEWORK_CONFIGS")
[ -n "${DEFAULTS:-}" ] && args+=(--defaults "$DEFAULTS")
[ -n "${ACCELERATE_CONFIG:-}" ] && args+=(--accelerate-config "$ACCELERATE_CONFIG")
[ -n "${DATA_PATH:-}" ] && [ "${NO_DATA_PROCESSING:-}" != true ] && args+=(--data "$DATA_PATH")

command=run
case "${NO_OVERWRITE:-}" in
  true) args+=(--resume) ;;
  false) args+=(--overwrite) ;;
esac
[ "${DRY_RUN:-}" = true ] && command=plan

exec "${TUNEBENCH:-tunebench}" "$command" "$scenarios" "${args[@]}"
