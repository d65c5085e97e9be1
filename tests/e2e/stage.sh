#!/bin/sh
# Set a private stage for a walk by three users; run inside `unshare --mount --propagation private`.
#   stage.sh FOLDER PYTHON REPOSITORY
# Nothing of it is seen outside: a /dev of our own with NVIDIA nodes that are really /dev/null, a
# /run of our own, and folders that are closed to others (an interpreter below /root) made passable.
set -eu
folder=$1 python=$2 repository=$3
uid=9836

hold=$(mktemp -d)
mount -t tmpfs tmpfs "$hold"
open_way() {
    way=$1
    closed=
    while [ "$way" != / ]; do
        way=$(dirname "$way")
        [ "$way" = / ] || [ "$(($(stat -c %a "$way") % 2))" -eq 1 ] || closed=$way
    done
    [ -n "$closed" ] || return 0
    place=$hold/$(echo "$1" | tr / _)
    mkdir "$place"
    mount --bind "$1" "$place"
    [ "$(stat -f -c %T "$closed")" = tmpfs ] && [ -e "$closed/.opened" ] || {
        mount -t tmpfs -o mode=755 tmpfs "$closed"
        : >"$closed/.opened"
    }
    mkdir -p "$1"
    mount --bind "$place" "$1"
}
open_way "$("$python" -I -c 'import sys; print(sys.base_prefix)')"
open_way "$("$python" -I -c 'import sys; print(sys.prefix)')"
open_way "$repository"

mount -t tmpfs -o mode=755 tmpfs "$hold"
mknod -m 666 "$hold/null" c 1 3
mknod -m 666 "$hold/zero" c 1 5
mknod -m 666 "$hold/urandom" c 1 9
mknod -m 600 "$hold/kmsg" c 1 11
for name in nvidia0 nvidia1 nvidiactl nvidia-uvm; do
    mknod -m 666 "$hold/$name" c 1 3
done
mkdir -m 1777 "$hold/shm"
mount --bind "$hold" /dev
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -m 755 /run/gpudiag
echo "users = [$uid]" >/run/gpudiag/reader.toml
printf '[checks."processes.orphaned"]\nsettle_s = 0.0\n' >/run/gpudiag/gpudiag.toml

setpriv --reuid 4242 --regid 4242 --clear-groups \
    env RANK=3 LOCAL_RANK=3 SECRET_TOKEN=hunter2 sh -c 'exec 9<>/dev/nvidia0 8<>/dev/nvidiactl; exec sleep 300' &
holder=$!
trap 'kill $holder ${unit:-} 2>/dev/null || true' EXIT
sleep 0.5

walk() {
    "$@" "$python" -I -m agent run --json --config /run/gpudiag/gpudiag.toml >"$folder/$name.json" 2>"$folder/$name.err" ||
        echo "$?" >"$folder/$name.status"
}
cd /
name=root walk env
name=alone walk setpriv --reuid $uid --regid $uid --clear-groups
"$python" -I -m collectors.helpers.children.reader --unit \
    --socket /run/gpudiag/reader.sock --policy /run/gpudiag/reader.toml &
unit=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ -S /run/gpudiag/reader.sock ] && break
    sleep 0.2
done
name=reader walk setpriv --reuid $uid --regid $uid --clear-groups
name=stranger walk setpriv --reuid 4343 --regid 4343 --clear-groups
