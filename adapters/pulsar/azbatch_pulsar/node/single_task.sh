#!/bin/sh
# A whole Pulsar job on one node: submit, tool and finish, one after the other, on the same folder.
# Batch starts it in the task's working directory; what is in out/ is uploaded when it has ended.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/settings.sh"
data=$PWD/staging
out=$PWD/out
marks=$data/azbatch
job=$data${JOB_DIRECTORY#"$STAGING"}

failed() {
  [ ! -e "$marks/outcome" ] || return
  printf '%s\n%s\n' "$1" "$2" >"$marks/outcome"
  echo "azbatch: $2" >&2
}

remove_containers() {
  docker ps -aq --filter "label=azbatch.job=$LABEL" | xargs -r docker rm -f >/dev/null
}

# Called at the end, however it comes: what is there is kept for the client, nothing else is left behind.
leave() {
  code=$1
  trap '' TERM INT
  trap - EXIT
  rm -rf "$here/../secret" "$job/launch_config"
  [ -z "$child" ] || {
    end_group "$child"
    wait "$child"
  }
  [ "$RUNTIME" != docker ] || remove_containers
  [ "$RUNTIME" != host ] || rm -f "$STAGING"
  cp "$marks/outcome" "$marks/status.json" "$out/" 2>/dev/null
  [ "$code" -ne 0 ] || case $(head -n 1 "$marks/outcome" 2>/dev/null) in
  '') ;;
  walltime_reached) code=124 ;;
  memory_limit_reached) code=137 ;;
  *) code=70 ;;
  esac
  rm -rf "$data"
  exit "$code"
}

# What timeout(1) started is in a process group of its own, with what a tool left behind or what ignores signals.
end_group() {
  kill -s KILL -- "-$1" 2>/dev/null
}

# bounded SECONDS COMMAND...: its exit code, and 124 if it was ended for the time. In the background: a shell that
# waits for a command of the foreground does not hear that it is to end.
bounded() {
  seconds=$1
  shift
  began=$(date +%s)
  timeout -s KILL "$seconds" "$@" &
  child=$!
  wait "$child"
  code=$?
  end_group "$child"
  child=''
  # A step may end with these by itself, too.
  case $code in 124 | 137) [ "$(($(date +%s) - began))" -lt "$seconds" ] && code=1 || code=124 ;; esac
  return "$code"
}

# in_docker STEP IMAGE SECONDS OPTIONS: the step in a container of its own; its exit code.
in_docker() {
  container=$LABEL-$1
  step=$1 image=$2 limit=$3
  eval "set -- $4"
  bounded "$limit" docker run --name "$container" --label "azbatch.job=$LABEL" \
    --workdir / --entrypoint sh -v "$data:$STAGING" "$@" "$image" /azbatch/steps/steps.sh "$step"
  code=$?
  # What was ended is docker's client; the container goes on without it.
  [ "$code" -ne 124 ] || docker kill "$container" >/dev/null 2>&1
  [ "$(docker inspect -f '{{.State.OOMKilled}}' "$container" 2>/dev/null)" != true ] || out_of_memory=1
  docker rm -f "$container" >/dev/null 2>&1
  return "$code"
}

on_host() {
  bounded "$2" sh "$here/steps.sh" "$1"
}

pulsar_step() {
  case $RUNTIME in
  docker) in_docker "$1" "$PULSAR_IMAGE" "$STAGE_LIMIT" "-v '$here/..:/azbatch:ro' $OPTIONS" ;;
  host) on_host "$1" "$STAGE_LIMIT" ;;
  esac
}

# The tool sees neither Pulsar's message, of which Pulsar keeps a copy, nor its configuration: there are keys in them.
tool_step() {
  mv "$job/launch_config" "$here/../secret/"
  case $RUNTIME in
  docker)
    in_docker tool "$TOOL_IMAGE" "$TOOL_SECONDS" \
      "-v '$here:/azbatch/steps:ro' $OPTIONS $TOOL_OPTIONS"
    ;;
  host) on_host tool "$TOOL_SECONDS" ;;
  esac
}

pull() {
  docker image inspect "$1" >/dev/null 2>&1 && return
  said=$(docker --config "$here/../secret/docker" pull -q "$1" 2>&1) || {
    failed image_missing "the node cannot get the image $1: $(echo "$said" | tail -n 1)"
    leave 66
  }
}

child='' out_of_memory=''
rm -rf "$data" "$out"
mkdir -p "$marks" "$out"
trap 'leave 143' TERM INT
trap 'leave 70' EXIT

if [ "$RUNTIME" = docker ]; then
  said=$(docker version --format . 2>&1) || {
    failed no_docker "the node has no Docker that answers: $(echo "$said" | tail -n 1)"
    leave 69
  }
  remove_containers
  pull "$PULSAR_IMAGE"
  pull "$TOOL_IMAGE"
else
  mkdir -p "$(dirname "$STAGING")"
  ln -sfn "$data" "$STAGING"
fi

pulsar_step submit || {
  code=$?
  failed stage_in_failed "Pulsar could not prepare the job on the node (exit code $code)"
}
if [ ! -e "$marks/outcome" ]; then
  tool_step
  code=$?
  if [ -n "$out_of_memory" ]; then
    failed memory_limit_reached "the tool used more memory than it asked for ($MEMORY_MB MB) and was killed"
  elif [ "$code" -eq 124 ]; then
    failed walltime_reached "the tool ran longer than the $TOOL_SECONDS s that it may, and was ended"
  elif [ "$RUNTIME" = docker ] && [ "$(cat "$job/return_code" 2>/dev/null)" = 127 ] &&
    ! docker run --rm --network none --entrypoint /bin/bash "$TOOL_IMAGE" -c : >/dev/null 2>&1; then
    failed no_bash "the image $TOOL_IMAGE has no /bin/bash, which Galaxy's tool scripts need"
  fi
fi
mv "$here/../secret/launch_config" "$job/" 2>/dev/null
pulsar_step finish || {
  code=$?
  failed stage_out_failed "Pulsar could not finish the job on the node (exit code $code)"
}
leave 0
