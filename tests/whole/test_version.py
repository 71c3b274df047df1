"""The version is written down once; what repeats it for readers must agree."""

import re
from importlib.metadata import version
from pathlib import Path

import pytest

import freewill as fw

ROOT = Path(__file__).parents[2]


def test_the_installed_package_has_the_version_of_the_source():
    assert version("freewill") == fw.__version__


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("CITATION.cff", r"^version: (\S+)$"),
        ("CHANGELOG.md", r"^## (\S+)"),
        ("src/freewill/device/js/package.json", r'^  "version": "(\S+)",$'),
    ],
)
def test_papers_for_readers_name_the_version(file, pattern):
    found = re.search(pattern, (ROOT / file).read_text(), re.MULTILINE)
    assert found is not None
    assert found[1] == fw.__version__
