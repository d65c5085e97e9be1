"""The index finds each rule in its file again, and reads no more than is asked for."""

from agent.knowledge import shipped
from diagnostics.rules.index import RuleFile, Shelf, index, parsed

ONE = r"""
[[rule]]
id = "site.{name}"
fault = "nan_loss"
severity = "warning"
anchor = "{anchor}"
pattern = '{anchor}'
message = "it was said"
example = ["{anchor}"]
not_example = ["{more}"]
"""


def test_each_rule_is_found_again() -> None:
    """What the shelf reads from a rule's own span is what the whole file says."""
    files = shipped()
    known = index(files)
    shelf = Shelf(files, known)
    expected = [rule for file in files for rule in parsed(file)]

    assert expected == [shelf(number) for number in range(len(known.entries))]


def test_the_index_holds_no_prose() -> None:
    """Messages, examples and references stay in their files."""
    entry = index([RuleFile("a.toml", ONE.format(name="one", anchor="abcd", more="x"))]).entries[0]

    assert ("id", "severity", "source", "anchor", "over_anchor") == entry.__struct_fields__


def test_a_tables_head_in_a_string_is_no_table() -> None:
    """Such a file is read whole, and its rules are found by their ids."""
    texts = [
        ONE.format(name="one", anchor="abcd", more="x").replace('"x"', "'''\n[[rule]]\n'''"),
        ONE.format(name="two", anchor="efgh", more="y"),
    ]
    files = (RuleFile("a.toml", "".join(texts)),)
    known = index(files)
    shelf = Shelf(files, known)

    assert ["site.one", "site.two"] == [shelf(0).id, shelf(1).id]
    assert [(0, len(files[0].text))] * 2 == [(s.start, s.stop) for s in known.spots]
