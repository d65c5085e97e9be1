# Runs inside the box of box.sh, as root; what it sees it writes to /share.
cd /share
unit=gpudiag-agent
show() { systemctl show $unit -p ActiveState -p StatusText -p NRestarts -p Result -p MainPID >"$1"; }
main() { systemctl show $unit -p MainPID --value; }
until_status() {
    for _ in $(seq 300); do
        systemctl show $unit -p StatusText --value | grep -q "$1" && return 0
        sleep 0.1
    done
    return 1
}
until_status 'walk 1 took'
show started
/opt/gpudiag/bin/python -I -m agent status --json >status.json 2>status.err
systemctl reload $unit && echo reloaded >reload
# Reload ends when HUP was sent; what the agent says of it stands until its next walk.
for _ in $(seq 300); do
    show after_reload
    grep -q 'settings read' after_reload && break
done
pid=$(main)
kill -STOP "$pid"
for _ in $(seq 400); do
    journalctl -b -u $unit --no-pager | grep -q 'Watchdog timeout' && break
    sleep 0.1
done
kill -CONT "$pid"
for _ in $(seq 200); do
    [ "$(main)" != "$pid" ] && [ "$(main)" != 0 ] && break
    sleep 0.1
done
until_status ' took'
show restarted
/opt/gpudiag/bin/python -I -m agent status --json >again.json 2>again.err
forks=$(cat /proc/"$(main)"/task/*/children)
for one in $forks; do
    for child in $(cat /proc/"$one"/task/*/children) "$one"; do kill -STOP "$child"; done
done
before=$(date +%s%N)
systemctl stop $unit
echo $((($(date +%s%N) - before) / 1000000)) >stop_ms
show stopped
ls /run/gpudiag >sockets
journalctl -b -u $unit --no-pager -o cat >journal
