# Runs inside the box of box.sh, as root; what it sees it writes to /share. The aggregator's unit
# came up by itself; from there on it is what how-to-aggregator.md says: two commands, one file.
cd /share
unit=gpudiag-aggregator
run="/opt/gpudiag/bin/python -I -m"
show() { systemctl show $unit -p ActiveState -p StatusText -p NRestarts -p Result -p MainPID >"$1"; }
main() { systemctl show $unit -p MainPID --value; }
until_true() {
    for _ in $(seq 300); do
        "$@" && return 0
        sleep 0.1
    done
    return 1
}
nodes() { $run agent fleet nodes --json >nodes.json 2>nodes.err; }
heard() { nodes && grep -q '"verdict"' nodes.json; }
restarted() { [ "$(main)" != "$pid" ] && [ "$(main)" != 0 ] && systemctl is-active -q $unit; }

until_true systemctl is-active -q $unit
show started
umask 077
$run aggregator token create --role join --url http://127.0.0.1:9837 >/etc/gpudiag/join-token
chown gpudiag /etc/gpudiag/join-token
mkdir -p /root/.config/gpudiag
$run aggregator token create --role operator >/root/.config/gpudiag/token
umask 022
stat -c '%U %a %n' /var/lib/gpudiag-aggregator /var/lib/gpudiag-aggregator/gpudiag.db >owners
systemctl start gpudiag-agent
until_true heard
$run agent fleet nodes >page 2>&1
systemctl reload $unit && echo reloaded >reload
show after_reload
pid=$(main)
kill -KILL "$pid"
until_true restarted
show restarted
until_true nodes
before=$(date +%s%N)
systemctl stop $unit
echo $((($(date +%s%N) - before) / 1000000)) >stop_ms
show stopped
journalctl -b -u $unit --no-pager -o cat >journal
systemctl stop gpudiag-agent
