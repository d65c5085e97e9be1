"""The model table, against the products that the simulator answers as their drivers do."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from collectors.gpu import simulator
from diagnostics.knowledge.models import Model, ModelsError, load, of_device, of_name, parse

FOLDER = Path(simulator.__file__).parent / "models"
SIMULATED = sorted(FOLDER.glob("*.toml"))


def simulated(path: Path) -> tuple[str, dict[str, Any]]:
    """Return a simulated product's name and what it has."""
    defaults: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))["defaults"]
    remap = defaults.get("remap", {})
    banks = sum(remap.get(key, 0) for key in ("max", "high", "partial", "low", "none"))
    told = {
        "id": f"{defaults['pci_device_id'] >> 16:04x}",
        "width": defaults["pcie"]["max_width"],
        "memory_mib": round(defaults["memory"]["total_bytes"] / (1 << 20)),
        "banks": banks or None,
        "nvlinks": defaults.get("nvlink", {}).get("count"),
    }
    return str(defaults["name"]), told


@pytest.mark.parametrize("path", SIMULATED, ids=lambda path: path.stem)
def test_a_simulated_product_is_as_its_row_says(path: Path) -> None:
    """Width, memory, row banks and NVLinks are what the product's driver reports."""
    name, told = simulated(path)
    model = of_name(name)
    assert model is not None
    row = {
        "id": next(device for device, one in load().items() if one is model),
        "width": model.pcie_width,
        "memory_mib": model.memory_mib,
        "banks": model.row_banks,
        "nvlinks": model.nvlinks,
    }
    assert told == row


@pytest.mark.parametrize("name", ["NVIDIA A100-SXM4-40GB", "A100-SXM4-40GB", "a100-sxm4-40gb "])
def test_a_product_by_the_names_of_several_drivers(name: str) -> None:
    """Older drivers leave the brand out."""
    assert of_device("20B0") == of_name(name)


def test_an_unknown_product_has_no_row() -> None:
    """A product that is not in the table gives no expectation."""
    assert [None, None, None] == [of_name("NVIDIA Q9"), of_name(None), of_device(None)]


def test_no_name_stands_twice() -> None:
    """A name leads to one row."""
    names = [name for model in load().values() for name in model.names]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("text", ["[1eb8]\nnames = 3", "[1eb8]\nnames = []\nwidth = 4", "[1eb8"])
def test_a_broken_table_names_its_file(text: str) -> None:
    """Whoever adds a product reads where the mistake is."""
    with pytest.raises(ModelsError, match=r"models\.toml"):
        parse(text)


def test_switches_say_how_many_gpus_a_baseboard_has() -> None:
    """Four NVSwitches on the bus belong to a board of eight GPUs."""
    assert of_device("2330") is not None
    assert 8 == (of_device("2330") or Model(names=())).switches["4"]
