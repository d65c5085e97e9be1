# Runs inside the box of box.sh, as root; what it sees it writes to /share.
cd /share
unit=gpudiag-actor
python=/opt/gpudiag/bin/python
ask() {
    user=$1
    shift
    (cd / && runuser -u "$user" -- $python -I /share/asking.py "$@")
}
begin() {
    ask gpudiag begin 'key="k"' "remedy=\"$1\"" 'subject="gpu 1"' 'serial=""' 'fault="gpu_lost"' \
        'signature="gpu_lost"' "boot_id=\"$boot\"" 'lease="l1"' \
        'deadline_s=60' 'plan="{}"'
}
boot=none
ls /run/gpudiag >before_install
begin slurm.resume >not_there
# A running agent finishes what it finds open, which is what is looked at here.
systemctl stop gpudiag-agent
systemctl enable -q --now $unit.socket $unit.service
ask gpudiag state >state.json
# A container has a boot id laid over the kernel's, which a unit with a view of its own does not see.
boot=$(sed 's/.*"boot_id": "\([-0-9a-f]*\)".*/\1/' state.json)
begin slurm.resume >advised
printf 'allow_unproved = ["slurm.resume"]\n[mode]\n"slurm.resume" = "act"\n' >/etc/gpudiag/acting.toml
begin slurm.resume >begun.json
ask nobody state >nobody 2>&1
id=$(sed 's/.*"id": "\([0-9a-f]*\)".*/\1/' begun.json)
ask gpudiag slurm_resume "id=\"$id\"" 'reason="gpudiag: x"' >step
pid=$(systemctl show $unit -p MainPID --value)
kill -KILL "$pid"
for _ in $(seq 200); do
    [ "$(systemctl show $unit -p MainPID --value)" != "$pid" ] && systemctl -q is-active $unit && break
    sleep 0.1
done
ask gpudiag state >again.json
chmod o+w /etc/gpudiag/acting.toml
ask gpudiag state >written_by_others
systemctl show $unit -p ActiveState -p NRestarts >restarted
stat -c '%U %a' /var/lib/gpudiag-actor /var/lib/gpudiag-actor/journal.jsonl /run/gpudiag/actor.sock >owners
systemctl stop $unit.socket $unit
systemctl show $unit -p ActiveState -p Result >stopped
journalctl -b -u $unit --no-pager >journal
