"""Bandwidth of collectives: rows of nccl-tests and records of NCCL's Inspector."""

from diagnostics.expression import Expression
from diagnostics.series.forms.number import NUMBER, measure, read
from diagnostics.series.point import Numbers

ANCHORS = (r"coll_busbw_gbs", r"    float    ", r"bfloat16    ", r"     half    ")

#                                                              out-of-place          in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong   time  ...
#  8589934592    2147483648     float     sum      -1    35012  245.34  460.02      0    35020 ...
ROW = Expression(
    r"^\s{0,16}(?:\d{1,6}: )?\s{0,16}(?P<size>\d{1,15})\s{1,16}\d{1,15}\s{1,12}"
    r"(?:float|bfloat16|half)\s{1,12}\w{1,8}"
    rf"\s{{1,12}}-?\d{{1,5}}\s{{1,12}}(?P<us>{NUMBER})\s{{1,12}}{NUMBER}\s{{1,12}}(?P<bus>{NUMBER})"
)
# "coll_perf": {"coll": "AllReduce", "coll_sn": 12, "coll_msg_size_bytes": 1073741824, ...
#   "coll_busbw_gbs": 412.5}
INSPECTED = Expression(
    rf'"coll_msg_size_bytes"\s?:\s?(?P<size>\d{{1,15}}).{{0,400}}?"coll_busbw_gbs"\s?:\s?(?P<bus>{NUMBER})'
)
# Below this a collective is latency, not bandwidth.
LARGE = 256 << 20


def bandwidth(text: str) -> Numbers | None:
    """Return the bus bandwidth of a large collective in GB/s."""
    hit = ROW.search(text) or INSPECTED.search(text)
    if hit is None or int(hit["size"]) < LARGE:
        return None
    return Numbers(bus_gb_s=measure(read(hit["bus"])), batch=int(hit["size"]))
