#!/bin/sh
# Boot a whole systemd in a container over this machine's own files, with the agent's units in it.
#   box.sh FOLDER PYTHON REPOSITORY [UNIT]
# FOLDER/probe is run by it and powers it off; what probe writes to /share stands in FOLDER/share.
# Run inside `unshare --mount --propagation private`: nothing of it is seen outside.
set -eu
folder=$1 python=$2 repository=$3 unit=${4:-gpudiag-agent.service}
root=$folder/root
mkdir -p "$folder/over" "$root" "$folder/share"
mount -t tmpfs tmpfs "$folder/over"
mkdir "$folder/over/upper" "$folder/over/work"
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/over/upper,workdir=$folder/over/work" "$root"

# Folders on the way to the interpreter may be closed to others here.
prefix=$("$python" -I -c 'import sys; print(sys.prefix)')
way=$("$python" -I -c 'import sys; print(sys.base_prefix)')
while [ "$way" != / ]; do
    [ -d "$root$way" ] && chmod a+rx "$root$way"
    way=$(dirname "$way")
done
# As a package would install it: the checkout may lie below /tmp, which the box has anew. Laid over
# the environment, which is a gigabyte where PyTorch is in it, and not copied.
rm -rf "$root/opt/gpudiag" "$root"/var/lib/gpudiag* "$root/run/gpudiag"
mkdir -p "$folder/over/installed" "$folder/over/installing" "$root/opt/gpudiag"
mount -t overlay overlay -o "lowerdir=$prefix,upperdir=$folder/over/installed,workdir=$folder/over/installing" "$root/opt/gpudiag"
for site in "$root"/opt/gpudiag/lib/python3*/site-packages; do
    rm -f "$site"/*gpudiag*.pth
    for package in agent aggregator collectors diagnostics remediations; do
        cp -a "$repository/$package" "$site/"
    done
done

units=$root/etc/systemd/system
rm -f "$root/etc/machine-id" "$units"/*.wants/*
systemd-machine-id-setup --root="$root" >/dev/null 2>&1 || true
cp "$repository"/deploy/systemd/gpudiag-* "$units/"
mkdir -p "$root/etc/sysusers.d" "$root/etc/tmpfiles.d" "$root/etc/gpudiag"
cp "$repository"/deploy/systemd/sysusers.d/*.conf "$root/etc/sysusers.d/"
cp "$repository/deploy/systemd/tmpfiles.d/gpudiag.conf" "$root/etc/tmpfiles.d/"
printf '[agent]\nwalk_s = 10\nmetrics = ""\n' >"$root/etc/gpudiag/gpudiag.toml"
mkdir -p "$units/gpudiag-agent.service.d" "$units/multi-user.target.wants" "$units/sockets.target.wants"
printf '[Service]\nWatchdogSec=20\nRestartSec=1\n' >"$units/gpudiag-agent.service.d/short.conf"
# The interpreter of who runs these tests may lie below /root, which ProtectHome=yes hides.
for one in aggregator actor; do
    mkdir -p "$units/gpudiag-$one.service.d"
    printf '[Service]\nProtectHome=read-only\n' >"$units/gpudiag-$one.service.d/home.conf"
done
printf '[Unit]\nAfter=multi-user.target\n[Service]\nType=oneshot\nTimeoutStartSec=100\nExecStart=/bin/sh /share/probe\nExecStopPost=/bin/systemctl --no-block poweroff\n' >"$units/probe.service"
ln -s "../$unit" ../probe.service "$units/multi-user.target.wants/"
ln -s ../gpudiag-reader.socket "$units/sockets.target.wants/"
cp "$folder/probe" "$folder/share/probe"
# The clock is read in a box as on a node: what keeps it from being set is a capability.
exec systemd-nspawn -q --system-call-filter="adjtimex clock_adjtime" --register=no --keep-unit -D "$root" --machine="gpudiag-box-$$" --private-network \
    --bind="$folder/share:/share" --console=pipe --boot systemd.unit=multi-user.target </dev/null
