"""Who wrote a line, by what launchers, loggers and NCCL put in front of it.

Forms, each with a line of the true shape:

    [rank3]: Traceback (most recent call last):              PyTorch 2.2 and later
    [E1130 02:11:09.120 ...] [PG ID 2 PG GUID 5 Rank 11] ... PyTorch's own log
    [2026-11-30 02:11:09,120] [INFO] [Rank 3] ...            DeepSpeed
    [rank: 3] Seed set to 42                                 Lightning
    [default3]:loss 2.31                                     torchrun --tee 3, by local rank
    3: loss 2.31                                             srun -l
    [1,3]<stderr>:loss 2.31                                  mpirun --tag-output
    gpu-017:2211:2290 [4] enqueue.cc:1012 NCCL WARN ...      host, process, thread, CUDA device
    gpu-017: [2026-11-30 02:11:09,120] ...                   pdsh, clush
    [pod/trainer-worker-3/pytorch] ...                       kubectl logs --prefix
    trainer-worker-3 pytorch ...                             stern
    (RayTrainWorker pid=4127, ip=10.4.0.17) ...              Ray
    (Worker_TP3 pid=911) ERROR 11-30 02:11:09 ...            vLLM
    [2026-11-30 02:11:09 TP3] ...                            SGLang
"""

import re
from collections.abc import Iterator
from typing import Any

NEAR = 300
DIGITS = 9

NAMED_RANK = re.compile(
    r"\[(?i:rank)[ =:]{0,2}(\d{1,6})\]|\[PG [^\]]{0,80} Rank (\d{1,6})\]|\brank=(\d{1,6}) "
)
TAGGED_RANK = re.compile(r"\s{0,6}(\d{1,6}): |\[(?:[\w.-]{1,80}@)?\d{1,6},(\d{1,6})\]<std")
# rank_3.log   logs/rank3.err   node0.rank-11.txt.gz
FILE_RANK = re.compile(r"(?i:rank)[_-]?(\d{1,6})(?:[._/-]|$)")

NCCL = re.compile(
    r"(?:^|[\s:>\])])(?P<host>[A-Za-z0-9][\w.-]{0,63}):(?P<pid>\w{1,10})(?::\w{1,10})? "
    r"\[(?P<local_gpu>\d{1,3})\] "
)
LOCAL = re.compile(r"\[default(?P<local_rank>\d{1,3})\]:")
RAY = re.compile(
    r"\((?P<actor>[A-Za-z_][\w.:<>-]{0,60}?)(?:_TP(?P<tp_rank>\d{1,4}))?(?: rank=\d{1,6})?"
    r" pid=(?P<pid>\d{1,10})(?:, ip=(?P<host>[\d.]{7,15}))?\)"
)
SGLANG = re.compile(
    r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?: [A-Z]{2}\d{1,4}){0,3} TP(?P<tp_rank>\d{1,4})"
)
PODS = re.compile(
    r"\[pod/(?P<host>[a-z0-9][\w.-]{0,80})/[\w.-]{1,60}\]"
    r"|(?P<pod>[a-z0-9][a-z0-9.-]{0,60}-(?:worker|master|launcher|head|node|trainer)-\d{1,4}) [a-z]"
)
# A word before a colon is a host only where it looks like one.
PDSH = re.compile(
    r"(?!(?:step|epoch|iter|iteration|layer|stage|batch|rank|version)\b)"
    r"(?P<host>[a-z][a-z0-9]{0,20}[.-][\w.-]{0,40}\d[\w.-]{0,20}): "
)
# PyTorch puts NCCL's own words below its line, and the rank before the first one only:
# [rank21]:[E1130 ... ProcessGroupNCCL.cpp:2106] [PG ID 0 ... Rank 21] ... NCCL version 2.21.5
# ncclRemoteError: A call failed possibly due to a network error or a remote process exiting ...
# Last error:
# NET/IB : Got completion from peer 10.4.0.21<40112> with status=12 opcode=0 len=0 vendor err 129
GOES_ON = re.compile(r"nccl[A-Z]\w{3,30}: |Last error:|NET/|NCCL version \d|\w{2,20}\.cc:\d")
# Its message has no more lines than these.
LINES_OF_MESSAGE = 4
FORMS = (LOCAL, RAY, SGLANG, PODS, PDSH)
SAID_OF = {"pod": "host"}


def rank(text: str) -> int | None:
    """Return the rank that a line says wrote it."""
    hit = _ranked(text)
    return int(hit[hit.lastindex]) if hit and hit.lastindex else None


def _ranked(text: str) -> re.Match[str] | None:
    # Most lines name no rank, and looking for a word is faster than for a pattern.
    near = text[:NEAR]
    named = NAMED_RANK.search(near) if "ank" in near or "ANK" in near else None
    return named or TAGGED_RANK.match(near)


def file_rank(name: str) -> int | None:
    """Return the rank whose own log a file is by its name."""
    hits = FILE_RANK.findall(name)
    return int(hits[-1]) if hits else None


def process(text: str) -> str:
    """Return host and pid of a line of NCCL's, or nothing."""
    hit = NCCL.search(text, 0, NEAR) if " NCCL " in text else None
    return f"{hit['host']}:{hit['pid']}" if hit else ""


def spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the rank and the process stand that wrote a line, as it says them."""
    if (hit := _ranked(text)) and hit.lastindex:
        yield hit.span(hit.lastindex)
    if " NCCL " in text and (hit := NCCL.search(text, 0, NEAR)):
        yield hit.start("host"), hit.end("pid")


def origin(text: str) -> dict[str, Any]:
    """Return what a line says of who wrote it beside the rank: host, pid, local_rank, local_gpu."""
    found: dict[str, Any] = {}
    for form in FORMS:
        if hit := form.match(text):
            found |= _said(hit)
            break
    if " NCCL " in text and (hit := NCCL.search(text, 0, NEAR)):
        found |= _said(hit)
    return found


def _said(hit: re.Match[str]) -> dict[str, Any]:
    told = {SAID_OF.get(name, name): value for name, value in hit.groupdict().items() if value}
    told.pop("actor", None)
    return {name: int(value) if value.isdigit() else value for name, value in told.items()}
