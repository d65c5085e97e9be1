"""Pages of faults: complete, short, each with words of its own, and with a first command that only reads."""

import re
import string
import textwrap
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnostics.knowledge.pages import FAMILIES, Page, PagesError, load, near, parse

PAGES = sorted(load().items())
COUNTS = {
    "processes": 31,
    "storage": 13,
    "driver": 39,
    "chassis": 15,
    "network": 43,
    "training": 33,
    "user_code": 9,
    "scheduler": 12,
    "observer": 4,
}
ONE = """
[disk_on_fire]
stage = "processes"
severity = "critical"
title = "burns"
meaning = "It burns."
causes = ["heat"]
look = "dmesg -T"
do = ["leave the room"]
never = "do not fan it"
"""
TOOLS = frozenset(
    "awk cat chronyc curl dcgmi df dmesg du ethtool findmnt free getent getfacl git gpudiag grep head hostname ib_write_bw"
    " ibping ibqueryerrors ibstat iostat ip ipmitool journalctl kubectl last ldd ls lscpu lsmod lspci mlxlink"
    " modinfo mtr nfsstat nproc numactl nvidia-smi nvme perfquery ping ps py-spy python quota readlink sacct"
    " scontrol show_gids sinfo smartctl sminfo sprio squeue ss stat systemctl tail taskset timeout tr"
    " tracepath uname wc sort cut sdiag lfs ssh saquery rdma dkms nstat column tee"
)
# Words that clear a counter or log, or change a state, whichever tool they follow.
CHANGES = re.compile(
    r"perfquery\b.* -[rR]|dmesg\b.* -[cCD]\b|--clear|sel clear|nvidia-smi\b.* (-p|-r|-pm|-pl|-lgc|-rgc|-mig|-e|-c|"
    r"--gpu-reset|--reset-ecc-errors)\b|ibqueryerrors\b.* -[kK]|--vacuum|--rotate|"
    r"\b(rm|kill|pkill|mv|dd|tee|modprobe|rmmod|reboot|shutdown|mount|umount|drain|resume|cordon|"
    r"delete|restart|start|stop|enable|disable|reload|reset|cycle|apply|patch|edit)\b|"
    r"scontrol (update|reboot)|chassis power (off|on)|ip link set|ethtool -[A-Z]|-s /|"
    r"[^2]>|>>|sysctl|makestep"
)
READS_ALTHOUGH = re.compile(r"dmon -s|pmon -|--type=\w+")


def sentences(page: Page) -> Iterator[str]:
    """Every sentence of a page: the clauses whole, the meaning cut at its full stops."""
    yield from (page.title, page.never, *page.causes, *page.do, *page.apart)
    for text in (page.meaning, *page.do, *page.causes):
        yield from re.split(r"(?<=[.:;?])\s+", text)


def plain(sentence: str) -> str:
    return sentence.lower().strip(string.punctuation + " ")


def rendered(page: Page) -> list[str]:
    """The page as wide text: title, meaning, then labelled blocks 84 columns wide, a blank line between."""
    blocks = [
        textwrap.wrap(f"{page.fault}: {page.title}", 98),
        textwrap.wrap(page.meaning, 98),
        [line for cause in page.causes for line in textwrap.wrap(cause, 82)],
        textwrap.wrap(page.look, 84, break_long_words=False),
        [line for step in page.do for line in textwrap.wrap(step, 80)],
        textwrap.wrap(page.never, 84),
        [line for other in page.apart for line in textwrap.wrap(other, 84)]
        + textwrap.wrap("; ".join(page.references), 84),
    ]
    return [line for block in blocks for line in (*block, "")]


def too_long(page: Page) -> list[str]:
    limits = [(page.title, 90), (page.meaning, 220), (page.never, 110), (page.look, 200)]
    limits += [(text, 110) for text in (*page.causes, *page.do, *page.apart)]
    return [f"{len(text)} > {most}: {text}" for text, most in limits if not 0 < len(text) <= most]


def commands(look: str) -> list[str]:
    """The simple commands of a line; what stands in quotes is no command."""
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", "QUOTED", look)
    return [part.split() for part in re.split(r"\s*(?:;|\|\||&&|\|)\s*", bare)]  # type: ignore[misc]
