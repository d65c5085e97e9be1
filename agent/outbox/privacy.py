"""What a report may tell of a job's own text: paths, addresses, URLs, e-mail and secrets go.

Forms are masked, not known names: where a program's text ends and the node's own begins cannot be
told from a sentence, so every sentence is masked, and things of the node that the document names
(ports, mount points, serial numbers) are put through unharmed.
"""

import ipaddress
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal

from collectors.node.recording.secrets import PATTERN, UNITS

Change = Callable[[str], str]
JobText = Literal["none", "masked", "full"]

LEFT_OUT = "(left out)"
JOB_SUBJECTS = frozenset({"process", "job", "rank", "log"})
# Values of these keys are the product's own words, identifiers and times.
# fmt: off
OWN = frozenset(
    {
        "boot_id", "check", "decision", "explained_by", "fault", "fingerprint", "first_seen", "id",
        "incident", "key", "kind", "last_seen", "node", "opened", "product", "proved", "remedies",
        "remedy", "risk", "root", "root_causes", "rule", "schema", "serial", "severity", "stage",
        "started", "state", "steps", "time", "uuid", "verdict", "held_back_by", "consequences",
    }
)
# fmt: on

NAMED = (
    r"(?i:[\w-]{0,40}(?:token|passw(?:or)?d|passphrase|pwd|secret|api[_-]?key|access[_-]?key"
    r"|private[_-]?key|credential)[\w-]{0,40})"
)
# "two \" words"   \"escaped in JSON\"   up to the next space
VALUE = (
    r"(?:\"(?:[^\"\\\n]|\\.)*\"?|'(?:[^'\\\n]|\\.)*'?"
    r"|\\(?P<escaped>[\"'])(?:(?!\\(?P=escaped))[^\n])*|[^\s\"'\\]\S*)"
)
# -----BEGIN OPENSSH PRIVATE KEY-----
PEM = re.compile(r"-----BEGIN [A-Z0-9 ]{1,60}-----[^-]*(?:-----END [A-Z0-9 ]{1,60}-----)?")
# Authorization: Basic dXNlcjp4   Cookie: a=1; b=2
HEADER = re.compile(
    r"(?P<name>(?i:\b(?:proxy-|set-)?(?:authorization|cookie))(?:\\?[\"'])?\s{0,4}[=:]\s{0,4})"
    r"(?P<value>\S[^\n]*)"
)
# WANDB_API_KEY=0a1b2c   "password": "two words"
ASSIGNED = re.compile(rf"(?P<name>{NAMED}(?:\\?[\"'])?\s{{0,4}}[=:]\s{{0,4}})(?P<value>{VALUE})")
# --api-key 0a1b2c
FLAGGED = re.compile(rf"(?P<name>(?<!\S)-{{1,2}}{NAMED}\s{{1,4}})(?P<value>{VALUE})")
BEARER = re.compile(r"(?P<name>(?i:\bbearer)\s{1,4})(?P<value>[\w.~+/=-]{8,})")
URL = re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s\"'<>`]+")
MAIL = re.compile(
    rf"[\w.+%~-]{{1,64}}@(?![\w.-]{{0,255}}\.(?:{UNITS})\b)[A-Za-z0-9-]{{1,63}}(?:\.[A-Za-z0-9-]+)*"
)
# "/data/my runs/x" between quotes; otherwise a path ends at a space that is not escaped
QUOTED_PATH = re.compile(
    r"(?P<quote>[\"'`])(?P<path>(?:~|\.{1,2})?[\w.-]{0,64}/[^\"'`\n]*)(?P=quote)"
)
WORD = re.compile(r"(?:\\\s|[^\s\"'`])+")
OPENING = "=([{<,;|"
OCTETS, COLONS, FOUR = (re.compile(PATTERN[name]) for name in ("octets", "colons", "four"))
TOKEN = re.compile(PATTERN["token"])
KNOWN_TOKEN = re.compile(
    r"\b(?:gh[pousr]_|github_pat_|hf_|glpat-|xox[a-z]-|sk-|AKIA|ASIA|AIza|ya29\.|npm_|pypi-)[\w.-]+"
)
HEXES = re.compile(r"(?<![0-9a-fA-F])[0-9a-fA-F]{32,}(?![0-9a-fA-F])")
LONG = re.compile(r"(?<![\w+=-])[\w+=.-]{20,}(?![\w+=-])")
# ncclCommInitRank_2   rwsem_down_read_slowpath   6.8.0-45-generic: words and numbers, not mixed
WORDS = re.compile(r"(?:[A-Za-z]+\d{0,3}|\d{1,10})(?:[._=+-]+(?:[A-Za-z]+\d{0,3}|\d{1,10}))*[._-]*")
NUMBER = re.compile(r"[\d.,e+-]*")

# Paths that every node has: they name a kind of thing, nothing of a user.
SYSTEM_PATH = re.compile(
    r"/dev|/dev/(?:nvidia[\w-]*|shm|mem|kmsg|null|infiniband/\w+|ipmi\d+|nvme\d\w*|sd[a-z]+\d*|md\d+)"
    r"|/proc/\d+/(?:task/\d+/)?(?:stat|status|stack|wchan|comm|cmdline|environ|fd|io|maps|cgroup)"
    r"|/proc/1/mountstats|/sys/fs/pstore|/var/crash|/var/lib/systemd/pstore(?:/[\d.]+)*/?"
    r"(?:dmesg\.txt)?|/proc/(?:meminfo|mounts|stat|mdstat|modules|pressure/\w+|driver/nvidia[\w./:-]*)"
    r"|/proc/sys/[a-z0-9_/.-]+|/sys/(?:bus|class|devices|module|kernel)(?:/[\w.:-]+)*"
    r"|/etc/(?:gpudiag|slurm)/[a-z_]+\.(?:conf|toml)|(?:/etc/|~/\.)nccl\.conf"
)
# 3/8   MiB/s   N/A   I/O   mlx5_0/1   CPU/GPU
HARMLESS = re.compile(
    r"\d[\d.]*/\d[\d.]*|[A-Za-z%]{1,8}/(?:s|min|h)|[A-Z]{1,4}/[A-Z]{1,4}"
    r"|(?:mlx|bnxt_re|irdma|hfi1|efa|qedr|roce|ib)\w{0,12}/\d{1,3}"
)
AROUND = ".,:;!?)]}>"


def masked(text: str, keep: Collection[str] = ()) -> str:
    """Return *text* with each thing that is nobody's business replaced by its kind in brackets.

    Words of *keep* stay. A path with a space that is neither quoted nor escaped ends there.
    """
    text = _forms(text)
    text = QUOTED_PATH.sub(lambda hit: _quoted(hit, keep), text)
    text = WORD.sub(lambda hit: _word(hit[0], keep), text)
    text = OCTETS.sub(lambda hit: hit[0] if hit[0] in keep else "[address]", text)
    text = COLONS.sub(lambda hit: _colons(hit[0], keep), text)
    text = FOUR.sub(lambda hit: _four(hit[0], keep), text)
    return LONG.sub(lambda hit: _long(hit[0], keep), text)


def without_secrets(text: str) -> str:
    """Return *text* with paths and addresses left as they are: those a recording replaces alike."""
    return LONG.sub(lambda hit: _long(hit[0], ()), _forms(text))


def _forms(text: str) -> str:
    """Return *text* without what gives itself away as secret, as URL or as e-mail."""
    text = PEM.sub("[secret]", text)
    for form in (HEADER, ASSIGNED, FLAGGED, BEARER):
        text = form.sub(_secret, text)
    text = MAIL.sub("[email]", URL.sub("[url]", text))
    return KNOWN_TOKEN.sub("[secret]", TOKEN.sub("[secret]", text))


def _secret(hit: re.Match[str]) -> str:
    # tokens: 4096   num_tokens=1.2e9: what a model reads
    if "tokens" in hit["name"].lower() and NUMBER.fullmatch(hit["value"].rstrip(AROUND)):
        return hit[0]
    return f"{hit['name']}[secret]"


def _quoted(hit: re.Match[str], keep: Collection[str]) -> str:
    path = hit["path"]
    shown = path if path in keep or _harmless(path) else "[path]"
    return hit["quote"] + shown + hit["quote"]


def _word(word: str, keep: Collection[str]) -> str:
    """Mask a word with a slash in it, but for what stands before: `file=/a`, `(/a`."""
    slash = word.find("/")
    if slash < 0:
        return word
    start = 1 + max(word.rfind(sign, 0, slash) for sign in OPENING)
    bare = word[start:].rstrip(AROUND)
    if not bare.strip("/") or bare in keep or _harmless(bare):
        return word
    return f"{word[:start]}[path]{word[start + len(bare) :]}"


def _harmless(path: str) -> bool:
    return bool(SYSTEM_PATH.fullmatch(path) or HARMLESS.fullmatch(path))


def _colons(word: str, keep: Collection[str]) -> str:
    """Mask an IPv6 address, also where it is a part of a row of colons: `eth0:fd42::9:`."""
    parts = word.split(":")
    for length in range(len(parts), 2, -1):
        for start in range(len(parts) - length + 1):
            inner = ":".join(parts[start : start + length])
            if inner not in keep and _is_address(inner):
                return ":".join([*parts[:start], "[address]", *parts[start + length :]])
    return word


def _is_address(text: str) -> bool:
    try:
        return not ipaddress.ip_address(text).is_unspecified
    except ValueError:
        return False


def _four(word: str, keep: Collection[str]) -> str:
    small = all(int(part) <= 255 for part in word.split("."))  # noqa: PLR2004 - an octet
    return "[address]" if small and word not in keep else word


def _long(word: str, keep: Collection[str]) -> str:
    bare = word.rstrip(".")
    mixed = re.search(r"\d", bare) and re.search(r"[A-Za-z]", bare)
    if bare in keep or not mixed or WORDS.fullmatch(bare):
        return HEXES.sub("[secret]", word)
    return "[secret]"


def document(diagnosis: Mapping[str, Any], job_text: JobText) -> dict[str, Any]:
    """Return a diagnosis as it may leave the node.

    `masked` masks every sentence; `none` leaves out those about processes, jobs, ranks and logs
    besides; `full` changes nothing but bytes that are no UTF-8.
    """
    if job_text == "full":
        return _table(diagnosis, _whole)
    keep = _names(diagnosis)
    left_out = _about_jobs(diagnosis) if job_text == "none" else diagnosis
    return _table(left_out, lambda text: masked(text, keep))


def _table(table: Mapping[str, Any], change: Change) -> dict[str, Any]:
    return {_whole(name): _walk(inner, change, name) for name, inner in table.items()}


def _walk(value: Any, change: Change, key: str = "") -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, str):
        return _whole(value) if key in OWN else change(_whole(value))
    if isinstance(value, Mapping):
        return _table(value, change)
    if isinstance(value, list | tuple):
        return [_walk(inner, change, key) for inner in value]
    return value


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _names(diagnosis: Mapping[str, Any]) -> frozenset[str]:
    """Return what names things of the node: a mount point is no secret, a job's log file is."""
    names: set[str] = set()
    for finding in diagnosis.get("findings", ()):
        subject = finding["subject"]
        names |= {str(subject[k]) for k in ("uuid", "serial") if subject.get(k)}
        if subject["kind"] not in JOB_SUBJECTS:
            names |= {str(subject[k]) for k in ("name", "peer") if subject.get(k)}
        if subject["kind"] == "mount":
            names.add(str(finding["text"]["args"].get("source", "")))
    return frozenset(names)


def _about_jobs(diagnosis: Mapping[str, Any]) -> dict[str, Any]:
    """Return the diagnosis without the sentences and evidence that a job could have written."""
    findings = [_bare(f) if _is_job(f) else f for f in diagnosis.get("findings", ())]
    ids = {f["id"] for f in findings if _is_job(f)}
    checks = {f["check"] for f in findings if _is_job(f)}
    return {
        **diagnosis,
        "findings": findings,
        "incidents": [
            _bare(i) if i["root"] in ids else _of_node(i) for i in diagnosis.get("incidents", ())
        ],
        "stages": [_stage(stage, checks) for stage in diagnosis.get("stages", ())],
        "jobs": [],
    }


def _is_job(finding: Mapping[str, Any]) -> bool:
    return finding["stage"] == "training" or finding["subject"]["kind"] in JOB_SUBJECTS


def _bare(item: Mapping[str, Any]) -> dict[str, Any]:
    gone: dict[str, Any] = {"message": LEFT_OUT, "sentence": LEFT_OUT}
    gone |= {"would_change": "", "would_change_text": None}
    gone |= {name: [] for name in ("evidence", "next", "rejected", "story")}
    text = {"key": item["text"]["key"], "args": {}}
    return {**item, **{k: v for k, v in gone.items() if k in item}, "text": text}


def _of_node(incident: Mapping[str, Any]) -> dict[str, Any]:
    """Return an incident of the node without what the checks of a job's log say beside it."""
    kept = [r for r in incident.get("rejected", ()) if not r["why"].startswith("training.")]
    return {**incident, "rejected": kept}


def _stage(stage: Mapping[str, Any], checks: Collection[str]) -> dict[str, Any]:
    lines = [
        {**c, "message": LEFT_OUT} if stage["name"] == "training" or c["check"] in checks else c
        for c in stage["checks"]
    ]
    return {**stage, "checks": lines}
