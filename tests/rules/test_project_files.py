"""The files that a public project has: licence and metadata agree, and every document that they name exists.

Nothing is built here; `make dist` builds the distributions and checks them (distributions.py).
"""

import re
import tomllib

import pytest

from tests.source import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
CI = ROOT / ".github" / "workflows" / "ci.yml"
SECTIONS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
"""The sections of Keep a Changelog."""


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_licence_names_its_owner_its_identifier_and_its_full_text() -> None:
    text = read("LICENSE")
    assert re.search(r"^Copyright \d{4} The kafkalet authors$", text, re.MULTILINE)
    assert f"SPDX-License-Identifier: {PROJECT['license']}\n" in text
    assert "https://www.apache.org/licenses/LICENSE-2.0\n" in text


def test_the_licence_is_an_expression_that_the_build_backend_understands() -> None:
    """PEP 639: setuptools reads it from 77.0.3 on. A classifier for the licence would then be an error."""
    [requirement] = PYPROJECT["build-system"]["requires"]
    least = tuple(map(int, requirement.removeprefix("setuptools>=").split(".")))
    assert least >= (77, 0, 3)
    assert PROJECT["license-files"] == ["LICENSE"]
    assert not [each for each in PROJECT["classifiers"] if each.startswith("License ::")]


def python_classifiers() -> list[str]:
    return re.findall(r"Python :: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE)


def test_the_classifiers_begin_with_the_oldest_python_that_is_accepted() -> None:
    assert f">={python_classifiers()[0]}" == PROJECT["requires-python"]
    assert PYPROJECT["tool"]["mypy"]["python_version"] == python_classifiers()[0]


def test_ci_tests_every_python_that_the_classifiers_name() -> None:
    matrices = re.findall(r"^ +python: \[(.*)\]", CI.read_text(encoding="utf-8"), re.MULTILINE)
    assert python_classifiers() in [re.findall(r"3\.\d+", matrix) for matrix in matrices]


@pytest.mark.parametrize(
    "document", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md"]
)
def test_a_link_to_a_file_leads_to_one(document: str) -> None:
    targets = re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", read(document))
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_a_file_that_the_contributing_guide_names_exists() -> None:
    """All but the transcript that its example would write."""
    words = [word for code in re.findall(r"`([^`\n]+)`", read("CONTRIBUTING.md")) for word in code.split()]
    paths = [word for word in words if re.match(r"(kafkalet|tests|docs)/", word) and "/more_" not in word]
    modules = [word.replace(".", "/") for word in words if re.match(r"(kafkalet|tests)\.", word)]
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert [module for module in modules if not (ROOT / f"{module}.py").exists()] == []


def test_a_make_target_that_the_contributing_guide_names_exists() -> None:
    named = set(re.findall(r"`make ([a-z]+)", read("CONTRIBUTING.md")))
    assert named
    assert named <= set(re.findall(r"^([a-z]+):", read("Makefile"), re.MULTILINE))


def test_the_changelog_has_the_sections_of_keep_a_changelog() -> None:
    titles = re.findall(r"^### (.*)$", read("CHANGELOG.md"), re.MULTILINE)
    assert titles
    assert set(titles) <= SECTIONS


def test_the_changelog_begins_with_what_is_not_released_or_with_this_version() -> None:
    releases = re.findall(r"^## \[(.*?)\]", read("CHANGELOG.md"), re.MULTILINE)
    assert releases[0] in ("Unreleased", *_versions())


def _versions() -> list[str]:
    return re.findall(r'^VERSION = "(.*)"$', read("kafkalet/version.py"), re.MULTILINE)
