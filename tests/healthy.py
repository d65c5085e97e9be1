"""Logs of healthy machines: long, of the true shape, full of words that read like trouble.

Each is a list of (seconds since boot, who wrote it, text); `kernel` is the kernel itself.
"""

from collections.abc import Iterator

Said = tuple[float, str, str]

GPUS = [f"0000:{bus}:00.0" for bus in ("18", "2a", "3a", "5d", "9a", "ab", "ba", "db")]
NICS = [f"0000:{bus}:00.0" for bus in ("1a", "2c", "3c", "5f", "9c", "ad", "bc", "dd")]
SWITCHES = [f"0000:{bus}:00.0" for bus in ("07", "08", "09", "0a")]
UUID = "2d0e4f63-3c7f-4b68-9e50-1d9b6a408f21"


def dgx_boot() -> list[Said]:
    """Return the boot of a node of eight GPUs, eight adapters and four NVSwitches, and a day."""
    lines = [*_firmware(192), *_bus(GPUS, "10de", "2330"), *_bus(NICS, "15b3", "1021")]
    lines += [*_memory(16), *_drives(10), *_adapters(NICS), *_gpus(), *_mounts(), *_day()]
    return _timed(lines)


def plain_boot() -> list[Said]:
    """Return the boot of a server without a GPU, with disks on a controller, and a day."""
    lines = [*_firmware(64), *_bus(["0000:41:00.0", "0000:41:00.1"], "8086", "158b")]
    lines += [*_memory(8), *_drives(2), *_sata(), *_intel(), *_mounts(), *_day()]
    lines += [f"audit: type=1400 apparmor=STATUS profile_load name=snap.p{n}" for n in range(120)]
    return _timed(lines)


def epyc_boot() -> list[Said]:
    """Return the boot of a server of two AMD processors with eight GPUs, and a busy day."""
    lines = [*_firmware(256), *_amd(), *_bus(GPUS, "10de", "2335"), *_bus(NICS, "15b3", "1023")]
    lines += [*_drives(8), *_adapters(NICS), *_gpus(), *_mounts(), *_day(), *_busy()]
    return _timed(lines)


def grace_boot() -> list[Said]:
    """Return the boot of an Arm board of two processors and four GPUs, and a busy day."""
    lines = [*_arm(144), *_bus(GPUS[:4], "10de", "2941"), *_bus(NICS[:4], "15b3", "1023")]
    lines += [*_drives(4), *_adapters(NICS[:4]), *_gpus(), *_mounts(), *_day(), *_busy()]
    lines += [f"arm-smmu-v3 arm-smmu-v3.{n}.auto: ias 48-bit, oas 48-bit" for n in range(40)]
    return _timed(lines)


def _timed(lines: list[str]) -> list[Said]:
    return [
        (round(n * 0.31 + (n > 250) * 900.0, 6), "kernel", text) for n, text in enumerate(lines)
    ]


def _firmware(cpus: int) -> Iterator[str]:
    yield "Linux version 6.8.0-48-generic (buildd@builder) (gcc-13) #48-Ubuntu SMP PREEMPT_DYNAMIC"
    yield "Command line: BOOT_IMAGE=/vmlinuz-6.8.0-48-generic root=/dev/md0 ro iommu=pt pci=realloc"
    yield "BIOS-provided physical RAM map:"
    for n in range(12):
        kind = ("usable", "reserved", "ACPI NVS")[n % 3]
        yield f"BIOS-e820: [mem 0x{n << 28:016x}-0x{((n + 1) << 28) - 1:016x}] {kind}"
    yield "x86/cpu: SGX disabled by BIOS."
    yield "ACPI: Early table checksum verification disabled"
    for name in ("XSDT", "FACP", "DSDT", "HEST", "ERST", "BERT", "EINJ", "SRAT", "SLIT", "DMAR"):
        yield f"ACPI: {name} 0x00000000776F0000 000A64 (v02 VENDOR SERVER 00000001 01000013)"
    yield "ACPI BIOS Error (bug): Could not resolve symbol [\\_SB.PC00.TXHC], AE_NOT_FOUND"
    yield "ACPI Error: Aborting method \\_SB.PMI0._GHL due to previous error (AE_NOT_EXIST)"
    yield "MCE: In-kernel MCE decoding enabled."
    yield "mce: CPU supports 32 MCE banks"
    yield "mce: CPU0: Thermal monitoring enabled (TM1)"
    yield "rcu: Hierarchical RCU implementation."
    yield "rcu: RCU calculated value of scheduler-enlistment delay is 100 jiffies."
    yield "rcu: Max phase no-delay instances is 400."
    yield "NMI watchdog: Enabled. Permanently consumes one hw-PMU counter."
    for cpu in range(0, cpus, 16):
        row = " ".join(f"#{n}" for n in range(cpu, cpu + 16))
        yield f".... node  #{cpu // 32}, CPUs: {row}"
    yield f"smpboot: Total of {cpus} processors activated (998400.00 BogoMIPS)"
    yield "ERST: Error Record Serialization Table (ERST) support is initialized."
    yield "GHES: APEI firmware first mode is enabled by APEI bit and WHEA _OSC."
    yield "HEST: Table parsing has been initialized."
    yield "DMAR: Host address width 52"
    yield "DMAR: Intel(R) Virtualization Technology for Directed I/O"
    yield "clocksource: Switched to clocksource tsc"
    yield "workingset: timestamp_bits=36 max_order=29 bucket_order=0"
    yield "VFS: Disk quotas dquot_6.6.0"
    yield "nf_conntrack: default automatic helper assignment has been turned off for security"


def _bus(addresses: list[str], vendor: str, device: str) -> Iterator[str]:
    for n, at in enumerate(addresses):
        port = f"{at[:-4]}01.0"
        yield f"pci {at}: [{vendor}:{device}] type 00 class 0x030200 PCIe Endpoint"
        yield f"pci {at}: BAR 0 [mem 0x20ff{n:02x}000000-0x20ff{n:02x}ffffff 64bit pref]"
        yield f"pci {at}: PME# supported from D0 D3hot"
        yield f"pci {at}: 504.112 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x16 link)"
        yield f"pci {at}: Adding to iommu group {40 + n}"
        yield f"pcieport {port}: PME: Signaling with IRQ {36 + n}"
        yield f"pcieport {port}: AER: enabled with IRQ {36 + n}"
        yield f"pcieport {port}: DPC: enabled with IRQ {36 + n}"
        yield f"pcieport {port}: DPC: error containment capabilities: Int Msg #0, RPExt+"
        yield f"pcieport {port}: pciehp: Slot #{n + 1} AttnBtn- PwrCtrl- MRL- AttnInd+"
    yield (
        "pci 0000:02:00.0: 4.000 Gb/s available PCIe bandwidth, limited by 5.0 GT/s PCIe x1 link "
        "at 0000:01:00.0 (capable of 8.000 Gb/s with 5.0 GT/s PCIe x2 link)"
    )


def _memory(controllers: int) -> Iterator[str]:
    for n in range(controllers):
        where = f"Socket#{n % 2} IMC#{n // 2}: DEV 0000:{0x7E + n % 2:02x}:0{n // 2:x}.0"
        yield f"EDAC MC{n}: Giving out device to module i10nm_edac controller {where} (INTERRUPT)"
    yield "EDAC i10nm: v0.0.6"


def _drives(count: int) -> Iterator[str]:
    for n in range(count):
        yield f"nvme nvme{n}: pci function 0000:{0x80 + n:02x}:00.0"
        yield f"nvme nvme{n}: missing or invalid SUBNQN field."
        yield f"nvme nvme{n}: Shutdown timeout set to 10 seconds"
        yield f"nvme nvme{n}: 64/0/0 default/read/poll queues"
        yield f" nvme{n}n1: p1 p2"
    yield "md/raid1:md0: active with 2 out of 2 mirrors"
    yield "md0: detected capacity change from 0 to 3749642240"
    yield "EXT4-fs (md0): orphan cleanup on readonly fs"
    yield f"EXT4-fs (md0): mounted filesystem {UUID} ro with ordered data mode. Quota mode: none."
    yield f"EXT4-fs (md0): re-mounted {UUID} r/w. Quota mode: none."
    yield f"XFS (nvme1n1p1): Mounting V5 Filesystem {UUID}"
    yield "XFS (nvme1n1p1): Starting recovery (logdev: internal)"
    yield "XFS (nvme1n1p1): Ending recovery (logdev: internal)"


def _sata() -> Iterator[str]:
    for n in range(1, 9):
        yield f"ata{n}: SATA max UDMA/133 abar m524288@0x92d00000 port 0x92d00{n}00 irq 92"
        yield f"ata{n}: SATA link down (SStatus 4 SControl 300)"
    for n, disk in enumerate("abcd"):
        yield f"sd 0:0:{n}:0: [sd{disk}] 7814037168 512-byte logical blocks: (4.00 TB/3.64 TiB)"
        yield f"sd 0:0:{n}:0: [sd{disk}] Write Protect is off"
        yield f"sd 0:0:{n}:0: [sd{disk}] Attached SCSI disk"
    yield "sd 9:0:0:0: [sde] Media removed, stopped polling"
    yield "usb 1-4: device descriptor read/64, error -71"
    yield "usb 1-4: new high-speed USB device number 3 using xhci_hcd"


def _adapters(nics: list[str]) -> Iterator[str]:
    for n, at in enumerate(nics):
        yield f"mlx5_core {at}: firmware version: 28.43.1014"
        yield f"mlx5_core {at}: 504.112 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x16 link)"
        yield f"mlx5_core {at}: Rate limit: 127 rates are supported, range: 0Mbps to 195312Mbps"
        yield f"mlx5_core {at}: Port module event: module {n % 2}, Cable plugged"
        yield (
            f"mlx5_core {at}: mlx5_pcie_event:301:(pid {900 + n}): Detected insufficient power on "
            "the PCIe slot (27W)."
        )
        yield f"mlx5_core {at} mlx5_{n}: Port: 1 Link DOWN"
        yield f"mlx5_core {at} mlx5_{n}: Port: 1 Link ACTIVE"
    yield "mlx5_core 0000:41:00.0 ens5f0np0: Link down"
    yield "mlx5_core 0000:41:00.0 ens5f0np0: Link up"
    yield "bond0: (slave ens5f0np0): Enslaving as a backup interface with a down link"
    yield "bond0: (slave ens5f0np0): link status definitely up, 100000 Mbps full duplex"
    yield "bond0: active interface up!"


def _intel() -> Iterator[str]:
    for n in range(2):
        at = f"0000:41:00.{n}"
        yield f"i40e {at}: fw 9.20.71847 api 1.15 nvm 9.20 0x8000d95e 22.0.9 [8086:158b]"
        yield f"i40e {at}: MAC address: 3c:ec:ef:00:00:0{n}"
        yield f"i40e {at} ens5f{n}: NIC Link is Down"
        yield f"i40e {at} ens5f{n}: NIC Link is Up, 25 Gbps Full Duplex, Flow Control: None"
    yield "IPv6: ADDRCONF(NETDEV_CHANGE): ens5f0: link becomes ready"


def _gpus() -> Iterator[str]:
    yield "nvidia: loading out-of-tree module taints kernel."
    yield "nvidia: module verification failed: signature and/or required key missing"
    yield "nvidia-nvlink: Nvlink Core is being initialized, major device number 234"
    for n, at in enumerate(SWITCHES):
        yield f"nvidia-nvswitch: Probing device {at}, Vendor Id = 0x10de, Device Id = 0x22a3"
        yield f"nvidia-nvswitch{n}: using MSI"
    for at in GPUS:
        yield f"nvidia {at}: enabling device (0140 -> 0142)"
        yield f"nvidia {at}: vgaarb: VGA decodes changed: olddecodes=none,decodes=none:owns=none"
    yield "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build"
    yield "nvidia-modeset: Loading NVIDIA UNIX Open Kernel Mode Setting Driver  580.95.05"
    yield "[drm] [nvidia-drm] [GPU ID 0x00001800] Loading driver"
    yield "nvidia_uvm: module uses symbols nvUvmInterfaceDisableAccessCntr from nvidia"
    yield "nvidia-uvm: Loaded the UVM driver, major device number 508."
    for n in range(24):
        yield f"nvidia-nvswitch{n % 4}: open (major=511)"
    yield "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping"


def _mounts() -> Iterator[str]:
    yield "NFS: Registering the id_resolver key type"
    yield "FS-Cache: Loaded"
    yield "nfs: server store-1.cluster not responding, still trying"
    yield "nfs: server store-1.cluster OK"
    yield "LNet: HW NUMA nodes: 2, HW CPU cores: 192, npartitions: 8"
    yield "LNet: Added LNI 10.20.0.101@o2ib [8/256/0/180]"
    yield "Lustre: Lustre: Build Version: 2.15.6"
    yield "Lustre: Mounted scratch-client"
    yield "libceph: mon0 (1)10.20.0.8:6789 session established"
    yield "ceph: mds0 caps renewed"


def _day() -> Iterator[str]:
    for n in range(60):
        yield f"IPv6: ADDRCONF(NETDEV_CHANGE): veth{n:08x}: link becomes ready"
        if n % 6 == 0:
            rate = 79000 - n * 500
            yield f"perf: interrupt took too long ({2503 + n} > 2500), lowering rate to {rate}"
    yield "CPU12: Core temperature/speed normal (total events = 1)"
    yield "python3 (8100): drop_caches: 3"
    yield "pcieport 0000:4c:01.0: AER: Corrected error received: 0000:4e:00.0"
    yield "nvidia 0000:18:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer"
    yield "nvidia 0000:18:00.0:   device [10de:2330] error status/mask=00000001/0000a000"
    yield "nvidia 0000:18:00.0:    [ 0] RxErr                  (First)"
    yield "{1}[Hardware Error]: event severity: corrected"
    yield "process 'bin/python3' launched '/bin/sh' with NULL argv: empty string added"


def _amd() -> Iterator[str]:
    yield "AMD-Vi: Using global IVHD EFR:0x246577efa2254afa, EFR2:0x0"
    yield "AMD-Vi: Interrupt remapping enabled"
    yield "AMD-Vi: Virtual APIC enabled"
    yield "perf/amd_iommu: Detected AMD IOMMU #0 (2 banks, 4 counters/bank)."
    yield "EDAC MC: Ver: 3.0.0"
    for n in range(24):
        yield f"EDAC MC{n % 2}: UMC{n // 2} chip selects:"
        yield "EDAC amd64: MC: 0: 32768MB 1: 32768MB"
    yield "MCE: In-kernel MCE decoding enabled."
    yield "kvm_amd: Nested Virtualization enabled"
    yield "ccp 0000:22:00.5: sev enabled"
    yield "ccp 0000:22:00.5: no command queues available"
    yield "Spectre V2 : Spectre v2 / SpectreRSB mitigation: Filling RSB on context switch"
    yield "x86/split lock detection: #DB: warning on user-space bus_locks"


def _arm(cpus: int) -> Iterator[str]:
    yield "Booting Linux on physical CPU 0x0000000000 [0x410fd4f0]"
    yield "Linux version 6.8.0-1021-nvidia-64k (buildd@builder) (aarch64-linux-gnu-gcc-13)"
    for n in range(cpus):
        yield f"GICv3: CPU{n}: found redistributor {n << 8:x} region {n}:0x0000{n:04x}22200000"
    yield "arch_timer: cp15 timer(s) running at 1000.00MHz (phys)."
    yield "sdei: SDEIv1.1 (0x0) detected in firmware."
    yield "ARM FF-A: Driver version 1.1"
    yield "GHES: APEI firmware first mode is enabled by APEI bit and WHEA _OSC."
    yield "arm-smmu-v3 arm-smmu-v3.0.auto: msi_domain absent - falling back to wired irqs"
    yield "nvidia-c2c: link 0 trained"
    yield "Internal: hugetlb: registered 512 MiB page size, pre-allocated 0 pages"


def _busy() -> Iterator[str]:
    """Yield what a node under load says of itself, none of which is a fault."""
    yield "workqueue: blk_mq_run_work_fn hogged CPU for >10000us 4 times, consider WQ_UNBOUND"
    yield "hrtimer: interrupt took 3562 ns"
    yield "TCP: request_sock_TCP: Possible SYN flooding on port 29500. Sending cookies."
    yield "systemd-journald[611]: /var/log/journal/2d0e: Journal file corrupted, rotating."
    yield "kauditd_printk_skb: 12 callbacks suppressed"
    yield "docker0: port 1(veth3c1e9f2) entered disabled state"
    yield "overlayfs: missing 'lowerdir'"
    yield "cgroup: fork rejected by pids controller in /user.slice/user-1000.slice"
    yield "usb 1-4: USB disconnect, device number 3"
    yield "ipmi_si dmi-ipmi-si.0: The BMC does not support setting the recv irq bit"
    yield "bond0: (slave ens5f0np0): link status up again after 100 ms"
    yield "EXT4-fs (md0): warning: maximal mount count reached, running e2fsck is recommended"
    yield "NVRM: Persistence mode is deprecated and will be removed in a future release."
    yield "NVRM: GPU at PCI:0000:18:00: GPU-3f1c9a52-7d1e-4b0a-9c56-2e8d4f6a1b30"
    yield "pstore: Using crash dump compression: deflate"
    yield "libceph: osd12 (1)10.20.0.9:6801 socket closed (con state OPEN)"
    yield "beegfs: mount(8099): BeeGFS mount ready."
    yield "wekafsio: registered file system"
    yield "Lustre: scratch-OST0004-osc-ffff9a0c1b2d8000: Connection restored to 10.20.0.9@o2ib"
    yield "mlx5_core 0000:1a:00.0: temperature: 61 C"
    yield "python3[8100]: drop_caches: 1"
    for n in range(3):
        label = f"CPU_SrcID#1_MC#{n}_Chan#1_DIMM#0 (channel:1 slot:0 page:0x1a2b3{n} offset:0x940)"
        yield f"EDAC MC{n}: 1 CE memory read error on {label}"
    for n in range(40):
        yield f'audit: type=1400 audit(1796004{n:03}.204:{n}): apparmor="DENIED" comm="lsof"'


def syslog() -> list[Said]:
    """Return a day of a node's syslog: services, logins, pods and jobs."""
    lines: list[tuple[str, str]] = []
    for n in range(34):
        lines += [
            (
                f"sshd[{4000 + n}]",
                f"Failed password for invalid user admin from 10.1.0.{n} port 40{n}",
            ),
            (
                f"sshd[{4000 + n}]",
                "error: kex_exchange_identification: Connection closed by remote host",
            ),
            (
                f"CRON[{5000 + n}]",
                "(root) CMD (test -x /usr/sbin/anacron || run-parts /etc/cron.daily)",
            ),
            (
                "systemd[1]",
                f"run-docker-runtime\\x2drunc-moby-{n:04x}.mount: Deactivated successfully.",
            ),
            ("systemd[1]", "apt-daily.service: Failed with result 'exit-code'."),
            (
                "slurmd[2211]",
                f"error: Unable to register: Unable to contact slurm controller ({n})",
            ),
            ("slurmd[2211]", f"launch task StepId={88000 + n}.0 request from UID:1000 GID:1000"),
            (f"slurmstepd[{6000 + n}]", "done with job"),
            (
                "kubelet[1801]",
                f'E1130 02:{n:02d}:09.120331 1801 dns.go:153] "Nameserver limits exceeded"',
            ),
            ("containerd[1650]", 'level=warning msg="cleaning up after shim disconnected"'),
            (
                "dockerd[1700]",
                'level=error msg="Handler for GET /v1.43/containers/x/json: No such"',
            ),
            ("chronyd[900]", "Selected source 10.0.0.1"),
        ]
    lines += [
        ("nv-hostengine[3001]", "DCGM initialized"),
        ("nvidia-persistenced[1200]", "Local RPC services initialized"),
        ("nv-fabricmanager[5183]", "Successfully configured all the available GPUs and NVSwitches"),
        (
            "nv-fabricmanager[5183]",
            "failed with error:WARNING Nothing to do [NV_WARN_NOTHING_TO_DO]",
        ),
        ("systemd-networkd[2385]", "ens5f0np0: Lost carrier"),
        ("systemd-networkd[2385]", "ens5f0np0: Gained carrier"),
        # A program may say so; it is not the kernel.
        ("train[8100]", "NVRM: Xid (PCI:0000:4e:00): 79, GPU has fallen off the bus."),
        ("train[8100]", "Out of memory: Killed process 4242 (python) total-vm:1kB, anon-rss:1kB"),
        ("nvidia-smi[9000]", "GPU 00000000:4E:00.0 was successfully reset."),
    ]
    return [(n * 211.0, who, text) for n, (who, text) in enumerate(lines)]


def dmesg(said: list[Said]) -> str:
    """Return the lines as `dmesg` prints them."""
    return "".join(f"[{at:12.6f}] {text}\n" for at, _, text in said)


def dmesg_t(said: list[Said]) -> str:
    """Return the lines as `dmesg -T` prints them."""
    return "".join(f"[{_clock(at, 'Mon Nov')} 2026] {text}\n" for at, _, text in said)


def kmsg(said: list[Said]) -> str:
    """Return the lines as /dev/kmsg gives them."""
    return "".join(f"6,{n},{int(at * 1e6)},-;{text}\n" for n, (at, _, text) in enumerate(said))


def journal(said: list[Said]) -> str:
    """Return the lines as syslog and `journalctl` write them."""
    return "".join(f"{_clock(at, 'Nov')} gpu-017 {who}: {text}\n" for at, who, text in said)


def journal_iso(said: list[Said]) -> str:
    """Return the lines as `journalctl -o short-iso-precise` writes them."""
    return "".join(f"{_iso(at)}.120331+00:00 gpu-017 {who}: {text}\n" for at, who, text in said)


def dmesg_x(said: list[Said]) -> str:
    """Return the lines as `dmesg -x --time-format iso` prints them."""
    return "".join(f"kern  :info  : {_iso(at)},283302+00:00 {text}\n" for at, _, text in said)


def both(said: list[Said]) -> str:
    """Return the lines as a syslog file has them, with both times."""
    return "".join(
        f"{_clock(at, 'Nov')} gpu-017 {who}: [{at:12.6f}] {text}\n" for at, who, text in said
    )


def _iso(at: float) -> str:
    return f"2026-11-30T{_clock(at, 'Nov')[7:]}"


def _clock(at: float, month: str) -> str:
    seconds = int(at) % 86_400
    return f"{month} 30 {seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
