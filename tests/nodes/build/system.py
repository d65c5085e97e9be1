"""What every Linux node has: kernel threads, services, memory file systems, a loopback."""

from tests.nodes.build.host import Mount, Process
from tests.nodes.build.network import Nic

# Some kernel threads idle in state D: no fault.
KTHREADS = (
    Process(2, "kthreadd", ppid=0, start_s=0.0, kernel=True),
    Process(16, "rcu_preempt", state="I", ppid=2, start_s=0.0, kernel=True),
    Process(17, "migration/0", ppid=2, start_s=0.0, kernel=True),
    Process(112, "kworker/u256:1-", state="D", ppid=2, start_s=0.1, kernel=True, cpu=1),
    Process(318, "kswapd0", ppid=2, start_s=0.6, kernel=True, cpu=2),
    Process(719, "jbd2/nvme0n1p2-", ppid=2, start_s=6.1, kernel=True, cpu=3),
)
MEMORY = (
    Mount("/dev/shm", "tmpfs", "tmpfs", "0:26", 1007, 1006.2, "rw,nosuid,nodev"),
    Mount("/run", "tmpfs", "tmpfs", "0:27", asked=False),
    Mount("/sys", "sysfs", "sysfs", "0:23", asked=False),
)
LOOPBACK = Nic("lo", ("127.0.0.1", "::1"), mtu=65536, kind="772", physical=False)


def services(*names: str) -> tuple[Process, ...]:
    """Return the first process and the services that run everywhere, *names* beside them."""
    usual = ("systemd-journal", "systemd-udevd", "dbus-daemon", "systemd-logind", "cron", "sshd")
    first = Process(1, "systemd", ppid=0, start_s=0.0)
    listed = enumerate((*usual, *names))
    return (first, *(Process(900 + 30 * n, name, start_s=20.0 + n, cpu=n) for n, name in listed))
