#!/bin/sh
# One step of a Pulsar job in a container task of its own. The node's shared folder, which Batch shows to every
# container, is the folder that the steps share; it has the same name in all of them.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/settings.sh"
data=$AZ_BATCH_NODE_SHARED_DIR/azbatch-pulsar/$LABEL
out=$PWD/out

[ "$1" != submit ] || rm -rf "$data"
mkdir -p "$data" "$(dirname "$STAGING")" "$out"
ln -sfn "$data" "$STAGING"
sh "$here/steps.sh" "$1"
code=$?
rm -rf "$here/../secret"
if [ "$1" = finish ]; then
  cp "$data/azbatch/outcome" "$data/azbatch/status.json" "$out/" 2>/dev/null
  rm -rf "$data"
fi
exit "$code"
