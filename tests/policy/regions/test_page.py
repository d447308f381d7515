"""The rules on the page about regions are fit to be obeyed, and its settings and subjects exist."""

import re
from dataclasses import fields
from pathlib import Path

from easyrider.tree_reader import read
from easyrider_policy.config import PREFIX, Config
from easyrider_policy.core.checks import faults

PAGE = (Path(__file__).parents[3] / "docs" / "regions.md").read_text()


def test_the_rules_on_the_page_are_fit():
    (block,) = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)

    assert faults(read(block, "docs/regions.md")) == []


def test_every_setting_on_the_page_exists():
    known = {PREFIX + field.name.upper() for field in fields(Config)}

    assert set(re.findall(r"EASYRIDER_POLICY_[A-Z_]+", PAGE)) <= known
