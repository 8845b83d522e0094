#!/bin/sh
# One step of a Pulsar job, where the programs of that step are: `submit` and `finish` in the Pulsar image, `tool`
# in the tool's image, or all three on the node itself. settings.sh lies beside it.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/settings.sh"
secret=$here/../secret # what only Pulsar may read: keys are in it
marks=$STAGING/azbatch # what the steps tell each other and, at the end, the client
return_code=$JOB_DIRECTORY/return_code

# failed WORD TEXT: the first thing that goes wrong is what counts.
failed() {
  mkdir -p "$marks"
  [ ! -e "$marks/outcome" ] || return
  printf '%s\n%s\n' "$1" "$2" >"$marks/outcome"
  echo "azbatch: $2" >&2
}

not_staged() {
  why=$(tail -n 1 "$JOB_DIRECTORY/stderr" 2>/dev/null | sed 's/job_key=[^&]*/job_key=.../g')
  failed stage_in_failed "Pulsar could not bring the job's inputs to the node: $why"
}

# Pulsar's own Python, told by its script: another python3 on PATH need not have Pulsar.
pulsar() {
  script=$(command -v pulsar-submit) || {
    failed no_pulsar "there is no pulsar-submit $WHERE_PULSAR"
    exit 69
  }
  python=$(sed -n '1s/^#! *//p' "$script")
  [ -x "$python" ] || python=python3
  # The settings of the step, and the way to the files that hold its secrets.
  # shellcheck disable=SC2086 # words that were checked when they were written
  "$python" "$here/pulsar_step.py" "$1" --marks "$marks" --seconds "$STAGE_SECONDS" --file "$secret/message.json" \
    --app_conf_path "$secret/app.json" $PULSAR_ARGUMENTS
}

case $1 in
submit)
  mkdir -p "$marks"
  pulsar submit
  code=$?
  [ "$code" -ne 124 ] || exit "$code"
  [ -e "$JOB_DIRECTORY/command_line" ] || {
    not_staged
    exit 65
  }
  ;;
tool)
  # Pulsar writes it last of all, when the inputs are there. Nothing to wait for: submit has ended.
  [ ! -e "$marks/outcome" ] || exit 65
  [ -e "$JOB_DIRECTORY/command_line" ] || {
    failed stage_in_failed "Pulsar left no command line for the tool"
    exit 65
  }
  [ -z "$SLOTS" ] || export GALAXY_SLOTS="$SLOTS"
  [ -z "$MEMORY_MB" ] || export GALAXY_MEMORY_MB="$MEMORY_MB"
  sh "$JOB_DIRECTORY/command_line"
  ;;
finish)
  # Nothing to bring, and Pulsar would begin to fetch the inputs again.
  case $(head -n 1 "$marks/outcome" 2>/dev/null) in no_pulsar | stage_timeout) exit 65 ;; esac
  # A tool that was killed left none, and Galaxy takes that for success.
  [ ! -e "$JOB_DIRECTORY/command_line" ] || [ -e "$return_code" ] || echo 137 >"$return_code"
  [ ! -e "$JOB_DIRECTORY/preprocessing_failed" ] || not_staged
  pulsar finish
  code=$?
  [ "$code" -ne 124 ] || exit "$code"
  [ ! -e "$marks/not_collected" ] ||
    failed stage_out_failed "Pulsar could not bring the job's outputs back to Galaxy: its log is in the task's stderr"
  [ -e "$marks/status.json" ] || {
    failed stage_out_failed "Pulsar could not finish the job: its log is above"
    exit 74
  }
  ;;
esac
