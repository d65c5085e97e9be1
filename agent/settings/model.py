"""The settings file as people write it; unknown keys are errors that name file, table and key."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from agent.cli.errors import Mistake

Tool = Annotated[str, Field(pattern=r"^/[^\x00-\x1f]*$")]
# mlx5_[0-7]   ens*f0np0   bond0
Name = Annotated[str, Field(pattern=r"^[0-9A-Za-z_.*?\[\]:@/-]{1,64}$")]


class Table(BaseModel):
    """A table of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PeerTable(Table):
    """One host to probe: by LID or port GUID over InfiniBand, by address over IP."""

    name: str
    lid: int | None = Field(default=None, ge=1, le=0xBFFF)
    port_guid: str | None = Field(default=None, pattern=r"^0x[0-9a-fA-F]{1,16}$")
    address: str | None = Field(default=None, pattern=r"^[0-9A-Za-z.:_][0-9A-Za-z.:_-]*$")
    rail: str = Field(default="", pattern=r"^[0-9A-Za-z_.-]{0,64}$")
    serves: bool = False

    @model_validator(mode="after")
    def _reachable(self) -> Self:
        if self.lid is None and self.port_guid is None and self.address is None:
            raise ValueError("give lid, port_guid or address")
        return self


class RolesTable(Table):
    """Which ports are for what: names of RDMA devices or interfaces, `*` for any part of one."""

    compute: tuple[Name, ...] = ()
    storage: tuple[Name, ...] = ()
    management: tuple[Name, ...] = ()


class Network(Table):
    """What the network stage probes, and what the ports are for."""

    peers: tuple[PeerTable, ...] = ()
    roles: RolesTable = RolesTable()


class Walk(Table):
    """How a walk is made."""

    sample_s: float = Field(default=1.0, ge=0.2, le=10.0)


class ExpectTable(Table):
    """What this node has; what is left out is looked up in Slurm or Kubernetes."""

    gpus: int | None = Field(default=None, ge=0, le=64)
    product: str | None = Field(default=None, min_length=2, max_length=80)
    ib_ports: int | None = Field(default=None, ge=0, le=256)
    ib_rate_gbps: float | None = Field(default=None, gt=0, le=10_000)
    nvme: int | None = Field(default=None, ge=0, le=256)


class AgentTable(Table):
    """The daemon; `metrics` is where Prometheus asks, "" for nowhere."""

    walk_s: float = Field(default=30.0, ge=10.0, le=300.0)
    metrics: str = Field(
        default="127.0.0.1:9836", pattern=r"^$|^(\d{1,3}(\.\d{1,3}){3}|\[::1\]):\d{1,5}$"
    )


class HookTable(Table):
    """What the scheduler's prolog and epilog may take the node out for: faults by their id."""

    drain: tuple[str, ...] = ()


class ReportTable(Table):
    """To whom the daemon reports: without `aggregator`, to nobody.

    `certificate` and `key` are this node's own, for an aggregator that hears nobody without one.
    """

    aggregator: str | None = Field(default=None, pattern=r"^https?://[^\s/?#]+(/[^\s?#]*)?$")
    join_token: str = Field(default="/etc/gpudiag/join-token", pattern=r"^/[^\x00-\x1f]*$")
    ca: str | None = Field(default=None, pattern=r"^/[^\x00-\x1f]*$")
    certificate: str | None = Field(default=None, pattern=r"^/[^\x00-\x1f]*$")
    key: str | None = Field(default=None, pattern=r"^/[^\x00-\x1f]*$")
    spool_mib: int = Field(default=256, ge=1, le=65_536)


class KubernetesTable(Table):
    """The API server that knows this node, and the token that may cordon it; without `api`, none.

    `node` is what it calls this node, the host's name where that is left out.
    """

    api: str | None = Field(default=None, pattern=r"^https?://[^\s/?#]+(/[^\s?#]*)?$")
    node: str | None = Field(default=None, pattern=r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$")
    token: str = Field(default="/etc/gpudiag/kubernetes/token", pattern=r"^/[^\x00-\x1f]*$")
    ca: str = Field(default="/etc/gpudiag/kubernetes/ca.crt", pattern=r"^/[^\x00-\x1f]*$")


class PrivacyTable(Table):
    """What of a job's own text leaves the node."""

    job_text: Literal["none", "masked", "full"] = "masked"


class File(Table):
    """The whole file."""

    network: Network = Network()
    walk: Walk = Walk()
    agent: AgentTable = AgentTable()
    hook: HookTable = HookTable()
    report: ReportTable = ReportTable()
    privacy: PrivacyTable = PrivacyTable()
    kubernetes: KubernetesTable = KubernetesTable()
    expect: ExpectTable = ExpectTable()
    tools: dict[str, Tool] = {}
    checks: dict[str, dict[str, Any]] = {}

    @classmethod
    def read(cls, table: dict[str, Any], path: str) -> Self:
        """Return the file's model, or say in one line where it is wrong."""
        try:
            return cls.model_validate(table)
        except ValidationError as problem:
            first = problem.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            what = "unknown key" if first["type"] == "extra_forbidden" else first["msg"]
            raise Mistake(
                f"{path}: {where}: {what}", "correct the key and repeat the command"
            ) from None
