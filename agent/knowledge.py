"""The rules that hold here, compiled: those that are shipped, and those of the site."""

from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path

from agent import BUILD, rule_cache
from agent.cli.errors import Mistake
from diagnostics.rules import rule
from diagnostics.rules.index import RuleFile, Shelf, for_kernel_log, index, parsed
from diagnostics.rules.kernel import KernelKnowledge
from diagnostics.rules.knowledge import OWN, Knowledge

SITE = "/etc/gpudiag/rules.d"
# What tells processors apart for the library, in /proc/cpuinfo of x86 and of Arm.
FEATURES = frozenset(
    {
        "ssse3",
        "sse4_2",
        "popcnt",
        "avx2",
        "avx512f",
        "avx512bw",
        "avx512vbmi",
        "asimd",
        "sve",
        "sve2",
    }
)
MOST_FILES = 200
LARGEST = 1 << 20

# Name and text of each file of the site.
Site = tuple[tuple[str, str], ...]


class Known:
    """The rules of one set of files, for text and for the kernel's log."""

    def __init__(self, files: Sequence[RuleFile], kept: rule_cache.Kept) -> None:
        self.index = kept.index
        self.shelf = Shelf(files, kept.index)
        self._kept = kept
        self._kernel: KernelKnowledge | None = None
        self._text: Knowledge | None = None

    @property
    def text(self) -> Knowledge:
        """Return what a text is searched with."""
        if self._text is None:
            self._text = Knowledge(self.index.entries, self.shelf, self._kept.database)
        return self._text

    @property
    def kernel(self) -> KernelKnowledge:
        """Return what the kernel's log is searched with."""
        if self._kernel is None:
            self._kernel = for_kernel_log(self.index, self.shelf, self._kept.kernel)
        return self._kernel


def knowledge(site: Site = ()) -> Knowledge:
    """Return the rules for text; raises Mistake where a file of the site is broken."""
    return known(site).text


@cache
def known(site: Site = ()) -> Known:
    """Return all rules with their anchors; compiled once, and then read from the cache."""
    held = _held(site)
    key = _key(held)
    found = rule_cache.load(key)
    if found is None:
        found = _compiled(key, held, len(site))
        rule_cache.store(found)
    return Known(held, found)


def kept(site: Site = ()) -> bool:
    """Return whether these rules were compiled before: that takes 40 MiB, which are not kept."""
    return rule_cache.load(_key(_held(site))) is not None


def _held(site: Site) -> tuple[RuleFile, ...]:
    return (*shipped(), *(RuleFile(*file) for file in site))


def every() -> tuple[rule.Rule, ...]:
    """Return all rules that hold here, read whole: those of the site come last."""
    own = tuple(RuleFile(*file) for file in site())
    if own:
        from agent.settings.rules import checked  # noqa: PLC0415 - as below

        checked(own, shipped())
    return tuple(one for file in (*shipped(), *own) for one in parsed(file))


@cache
def shipped() -> tuple[RuleFile, ...]:
    """Return the files of this package."""
    # Not importlib.resources: its import is a tenth of a short command.
    folder = Path(rule.__file__).parent / "data"
    names = sorted(file.name for file in folder.iterdir() if file.suffix == ".toml")
    return tuple(RuleFile(f"{rule.FOLDER}/{n}", (folder / n).read_text("utf-8")) for n in names)


def site(folder: str = SITE) -> Site:
    """Return the files of the site in the order of their names; none where it has no folder."""
    try:
        paths = sorted(p for p in Path(folder).iterdir() if p.suffix == ".toml")
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as problem:
        hint = f"let this user read it: chmod a+rx {folder}"
        raise Mistake(f"cannot read {folder}: {problem.strerror}", hint) from None
    if len(paths) > MOST_FILES:
        raise Mistake(
            f"{folder}: more than {MOST_FILES} files", "put rules together in fewer files"
        )
    return tuple((str(path), _text(path)) for path in paths)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise Mistake(f"{path}: more than 1 MiB", "split it")
        return data.decode("utf-8")
    except OSError as problem:
        hint = f"let this user read it: chmod a+r {path}"
        raise Mistake(f"cannot read {path}: {problem.strerror}", hint) from None
    except UnicodeDecodeError as problem:
        raise Mistake(f"{path}: byte {problem.start} is no UTF-8", "save it as UTF-8") from None


def _compiled(key: str, held: Sequence[RuleFile], of_site: int) -> rule_cache.Kept:
    if of_site:
        # The models cost start-up, and most nodes have no rules of their own.
        from agent.settings.rules import checked  # noqa: PLC0415 - see above

        checked(held[-of_site:], held[:-of_site])
    known = index(held)
    shelf = Shelf(held, known)
    return rule_cache.Kept(
        key=key,
        index=known,
        database=Knowledge(known.entries, shelf).anchors.dumped(),
        kernel=for_kernel_log(known, shelf).anchors.dumped(),
    )


def _key(held: Sequence[RuleFile]) -> str:
    """Return what the compiled form depends on: content, program, library, processor."""
    import hyperscan  # noqa: PLC0415 - commands that search nothing do without

    digest = blake2b(digest_size=16)
    for part in (BUILD, str(vars(hyperscan)["__version__"]), _processor(), *OWN):
        digest.update(part.encode() + b"\0")
    for file in held:
        digest.update(f"{file.name}\0{len(file.text)}\0{file.text}".encode())
    return digest.hexdigest()


def _processor() -> str:
    """Return the features of the first processor that matter here."""
    try:
        with Path("/proc/cpuinfo").open(encoding="ascii", errors="replace") as file:
            # The rest is a line or two for each of some hundred processors.
            lines = file.read(16_384).splitlines()
    except OSError:
        return "unknown"
    words = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return " ".join(sorted(FEATURES & set(words.split())))
