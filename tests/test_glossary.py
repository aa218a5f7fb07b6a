"""docs/glossary.md names every module and every type of `domain` once, and no word twice."""

import ast
import re
from collections import Counter
from pathlib import Path

from tests.architecture import PACKAGE, parsed, sources

GLOSSARY = Path(__file__).parents[1] / "docs" / "glossary.md"


def glossary_words() -> Counter[str]:
    """The first cells of all tables, without the heads."""
    rows = re.findall(r"^\| (.+?) \| ", GLOSSARY.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return Counter(word for word in rows if word not in ("word", "type", "module"))


def modules() -> list[str]:
    """The modules that are no packages, without the name of mirrord."""
    packages = {module.rpartition(".")[0] for module in sources()} | {PACKAGE}
    return [module.removeprefix(f"{PACKAGE}.") for module in sources() if module not in packages]


def domain_types() -> list[str]:
    """The public classes of `domain`."""
    return [
        node.name
        for module, source in sources().items()
        if module.startswith(f"{PACKAGE}.domain.")
        for node in parsed(source).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]


def test_every_word_is_explained_once() -> None:
    assert [word for word, count in glossary_words().items() if count > 1] == []


def test_every_module_and_every_type_of_domain_is_in_it() -> None:
    expected = {f"`{name}`" for name in [*modules(), *domain_types()]}
    assert expected - glossary_words().keys() == set()


def test_it_names_no_module_that_is_gone() -> None:
    named = {word.strip("`") for word in glossary_words() if re.fullmatch(r"`[a-z_.]+`", word)}
    assert named - set(modules()) == set()


def test_no_type_of_domain_has_the_name_of_another() -> None:
    assert [name for name, count in Counter(domain_types()).items() if count > 1] == []
