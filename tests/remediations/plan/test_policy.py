"""The file of the site: what it lets act, and each mistake in it as one line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remediations.policy import PROVED, Policy, PolicyError, parse


def test_without_a_word_everything_is_advised() -> None:
    """An empty file is that of no file, but for its path."""
    assert Policy(path="acting.toml") == parse("", "acting.toml")


def test_one_line_turns_one_remedy_on() -> None:
    """The others stay advised."""
    read = parse('[mode]\n"slurm.drain" = "act"')

    assert ["slurm.drain"] == [name for name in PROVED if read.of(name) == "act"]


def test_every_key_is_read() -> None:
    """Users, what is allowed unproved, modes, and the tables of heat and Kubernetes."""
    read = parse(
        'users = ["gpudiag", "ops"]\nallow_unproved = ["gpu.reset"]\n'
        '[mode]\n"gpu.reset" = "observe"\n[heat]\ndcmi = true\n[kubernetes]\nevict = true\n'
    )

    assert [("gpudiag", "ops"), ["gpu.reset"], "observe", True, True] == [
        read.users,
        list(read.allow_unproved),
        read.of("gpu.reset"),
        read.heat.dcmi,
        read.kubernetes.evict,
    ]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("", [None, None]),
        ("standing_limit_w = 600", [600_000, 600_000]),
        ("standing_limit_w = 0", [None, None]),
        ('standing_limit_w = {"NVIDIA H100 80GB HBM3" = 612.5}', [612_500, None]),
    ],
)
def test_the_limit_that_a_site_keeps(said: str, expected: list[int | None]) -> None:
    """It is one for all GPUs, or one for each model by the driver's name of it."""
    heat = parse(f"[heat]\n{said}\n").heat

    models = ("NVIDIA H100 80GB HBM3", "NVIDIA B200")
    assert expected == [heat.standing_mw(model) for model in models]


def test_what_is_proved_by_a_real_tool_needs_no_leave() -> None:
    """What is proved by less does, by its name."""
    name = next(iter(PROVED))
    allowed = parse(f'allow_unproved = ["{name}"]')

    assert ([], True) == (
        [n for n in PROVED if PROVED[n] in ("documented", "recorded") and Policy().proved(n)],
        allowed.proved(name),
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mode", "p: no TOML: Expected '=' after a key in a key/value pair (at end of document)"),
        ("modes = 1", "p: modes: unknown key"),
        ('users = "gpudiag"', "p: users: not a list of names"),
        ("users = [1]", "p: users: not a list of names"),
        ('allow_unproved = ["gpu.rest"]', "p: allow_unproved: no such remedy: 'gpu.rest'"),
        ("mode = 1", "p: mode: not a table"),
        ('[mode]\ngpu.reset = "act"', "p: mode.gpu: not a mode"),
        ('[mode]\n"gpu.rest" = "act"', "p: mode: no such remedy: 'gpu.rest'"),
        ('[mode]\n"gpu.reset" = "on"', "p: mode.gpu.reset: no such mode: 'on'"),
        ('[mode]\n"gpu.reset" = true', "p: mode.gpu.reset: no such mode: True"),
        ("heat = 1", "p: heat: not a table"),
        ("[heat]\ndcmi = 1", "p: heat.dcmi: not a bool: 1"),
        (
            "[heat]\nstanding_limit_w = true",
            "p: heat.standing_limit_w: not a number of W or a table of such: True",
        ),
        (
            "[heat]\nstanding_limit_w = inf",
            "p: heat.standing_limit_w: not a number of W or a table of such: inf",
        ),
        (
            '[heat.standing_limit_w]\nH100 = "600"',
            "p: heat.standing_limit_w: not a number of W or a table of such: {'H100': '600'}",
        ),
        ("[heat]\ndmci = true", "p: heat.dmci: unknown key"),
        ('[kubernetes]\nevict = "yes"', "p: kubernetes.evict: not a bool: 'yes'"),
    ],
)
def test_a_mistake_is_one_line_that_names_file_and_key(text: str, said: str) -> None:
    """And it says what to do."""
    with pytest.raises(PolicyError) as raised:
        parse(text, "p")

    assert (said, True) == (str(raised.value), bool(raised.value.hint))


@given(st.text(max_size=200))
def test_any_text_is_a_policy_or_a_mistake(text: str) -> None:
    """Nothing else is raised, and what is no policy lets nothing act."""
    try:
        read = parse(text)
    except PolicyError:
        return
    assert [] == [name for name in PROVED if read.of(name) == "act"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)


@given(st.sampled_from([*PROVED, "gpu.rest", "", "mode"]), VALUES)
def test_only_the_word_act_turns_a_remedy_on(name: str, value: object) -> None:
    """Whatever stands there instead is another mode, or a mistake."""
    text = f'[mode]\n"{name}" = {_toml(value)}'
    try:
        acts = parse(text).of(name) == "act"
    except PolicyError:
        acts = False

    assert (value == "act" and name in PROVED) == acts


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    # What TOML cannot say is a mistake as any other.
    return '"act"' if value == "act" else repr(str(value)) if isinstance(value, str) else "nil"
