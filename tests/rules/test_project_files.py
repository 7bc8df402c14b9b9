"""Project files: license and metadata agree, and the files that documents refer to exist.

These tests build nothing; `make dist` builds the distributions and checks them (distributions.py).
"""

import re
import tomllib
from typing import Any

import pytest

from tests.conftest import SLOW
from tests.source import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
CI = ROOT / ".github" / "workflows" / "ci.yml"
OTHERS = {
    name: tomllib.loads((ROOT / name / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for name in ("conformance", "spark")
}
"""The other packages in this repository, by folder."""
SECTIONS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
"""The section titles of Keep a Changelog."""


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_license_names_owner_and_identifier_and_links_full_text() -> None:
    text = read("LICENSE")
    assert re.search(r"^Copyright \d{4} The kafkalet authors$", text, re.MULTILINE)
    assert f"SPDX-License-Identifier: {PROJECT['license']}\n" in text
    assert "https://www.apache.org/licenses/LICENSE-2.0\n" in text


def test_license_expression_is_supported_by_build_backend() -> None:
    """Setuptools supports PEP 639 since 77.0.3, and then rejects license classifiers."""
    [requirement] = PYPROJECT["build-system"]["requires"]
    least = tuple(map(int, requirement.removeprefix("setuptools>=").split(".")))
    assert least >= (77, 0, 3)
    assert PROJECT["license-files"] == ["LICENSE"]
    assert not [each for each in PROJECT["classifiers"] if each.startswith("License ::")]


def python_classifiers(project: dict[str, Any] = PROJECT) -> list[str]:
    return re.findall(r"Python :: (3\.\d+)$", "\n".join(project["classifiers"]), re.MULTILINE)


def test_classifiers_start_with_oldest_supported_python() -> None:
    assert f">={python_classifiers()[0]}" == PROJECT["requires-python"]
    assert PYPROJECT["tool"]["mypy"]["python_version"] == python_classifiers()[0]


def test_ci_runs_every_python_version_of_the_classifiers() -> None:
    matrices = re.findall(r"^ +python: \[(.*)\]", CI.read_text(encoding="utf-8"), re.MULTILINE)
    assert python_classifiers() in [re.findall(r"3\.\d+", matrix) for matrix in matrices]


@pytest.mark.parametrize("folder", OTHERS)
def test_other_package_has_the_version_license_and_python_versions_of_kafkalet(folder: str) -> None:
    other = OTHERS[folder]
    assert [other["version"]] == _versions()
    assert [each for each in other["dependencies"] if each.startswith("kafkalet")] == [f"kafkalet=={other['version']}"]
    assert {name: other[name] for name in ("license", "license-files", "requires-python", "authors")} == {
        name: PROJECT[name] for name in ("license", "license-files", "requires-python", "authors")
    }
    assert python_classifiers(other) == python_classifiers()
    assert read(f"{folder}/LICENSE") == read("LICENSE")


@pytest.mark.parametrize("folder", OTHERS)
def test_extra_is_the_package_in_the_folder_of_its_name(folder: str) -> None:
    assert PROJECT["optional-dependencies"][folder] == [OTHERS[folder]["name"]]


@pytest.mark.parametrize(
    "document", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md"]
)
def test_links_to_files_are_valid(document: str) -> None:
    targets = re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", read(document))
    assert [target for target in targets if not (ROOT / target).exists()] == []


def installed_by_name(text: str) -> list[str]:
    """Return the pip commands that take kafkalet from a package index, in lines and in wrapped inline code."""
    wrapped = [" ".join(code.split()) for code in re.findall(r"`([^`\n]+\n[^`\n]+)`", text)]
    command = re.compile(r"pip3? install (?:[^\s`#]+ )*?['\"]?kafkalet(-spark|-conformance)?\b(?!-).*")
    return [found[0] for line in (*text.splitlines(), *wrapped) if (found := command.search(line))]


READ_BEFORE_INSTALLING = [
    path.relative_to(ROOT).as_posix()
    for pattern in (
        "*.md",
        "spark/*.md",
        "conformance/*.md",
        "docs/**/*.md",
        "docs/**/*.yml",
        "examples/**/*",
        "clients/**/*",
    )
    for path in sorted(ROOT.glob(pattern))
    if path.suffix in (".md", ".py", ".go", ".java", ".mjs", ".yml") and "node_modules" not in path.parts
]


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("pip install kafkalet", True),
        ("pip install kafkalet-spark", True),
        ("`pip install pytest\nkafkalet[spark]`", True),
        ("pip install ./kafkalet\nkafkalet serve", False),
        ("`pip install '.[spark]'` installs kafkalet", False),
    ],
)
def test_installation_by_name_is_found(text: str, is_found: bool) -> None:
    assert bool(installed_by_name(text)) is is_found


def test_no_first_step_needs_a_package_index() -> None:
    """Until the first release, no index has the package. Messages of the installed package may name its extras."""
    assert len(READ_BEFORE_INSTALLING) > 50
    found = {name: installed_by_name(read(name)) for name in READ_BEFORE_INSTALLING}
    assert {name: commands for name, commands in found.items() if commands} == {}


def test_files_named_in_contributing_guide_exist() -> None:
    """Except for the transcript that the guide's example would record."""
    words = [word for code in re.findall(r"`([^`\n]+)`", read("CONTRIBUTING.md")) for word in code.split()]
    paths = [
        word
        for word in words
        if re.match(r"(kafkalet|conformance|spark|tools|tests|docs)/", word) and "/more_" not in word
    ]
    modules = [word.replace(".", "/") for word in words if re.match(r"(kafkalet|tools|tests)\.(?!pyz)", word)]
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []
    files = [(f"{module}.py", f"{module}/__main__.py") for module in modules]
    assert [either for either in files if not any((ROOT / path).exists() for path in either)] == []


def test_make_targets_named_in_contributing_guide_exist() -> None:
    named = set(re.findall(r"`make ([a-z-]+)", read("CONTRIBUTING.md")))
    assert named
    assert named <= set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))


def test_each_test_is_run_by_make_test_or_by_make_test_all() -> None:
    """One runs the tests without the marker `slow`, the other those with it, which all tests with Spark have."""
    commands = {target: re.findall(r"-m pytest -n \d --dist \w+ (.*) \$", recipe) for target, recipe in _recipes()}
    assert commands["test"] == ['-m "not slow"']
    assert "\ntest-all: test-slow test-spark\n" in read("Makefile")
    assert commands["test-slow"] == ["-m slow tests"]
    assert commands["test-spark"] == ["spark/tests/spark", "spark/tests --ignore spark/tests/spark"]
    assert ROOT / "spark" / "tests" in SLOW


def _recipes() -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = re.findall(r"^([a-z-]+):.*\n((?:\t.*\n)+)", read("Makefile"), re.MULTILINE)
    return found


def test_changelog_uses_sections_of_keep_a_changelog() -> None:
    titles = re.findall(r"^### (.*)$", read("CHANGELOG.md"), re.MULTILINE)
    assert titles
    assert set(titles) <= SECTIONS


def test_changelog_starts_with_unreleased_or_current_version() -> None:
    releases = re.findall(r"^## \[(.*?)\]", read("CHANGELOG.md"), re.MULTILINE)
    assert releases[0] in ("Unreleased", *_versions())


def _versions() -> list[str]:
    return re.findall(r'^VERSION = "(.*)"$', read("kafkalet/version.py"), re.MULTILINE)
