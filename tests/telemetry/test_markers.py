"""Numbers that mean "I do not know"."""

import pytest

from easyrider.devices.markers import is_blank


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (140737488355328.0, "double"),
        (float("nan"), "double"),
        (float("inf"), "double"),
        (9223372036854775792, "longlong"),
        (9223372036854775792, "ulonglong"),
        (0xFFFFFFFFFFFFFFFF, "ulonglong"),
        (2147483632, "int"),
        (2147483635, "uint"),
        (0xFFFFFFFF, "uint"),
        (0xFFFF, "ushort"),
    ],
)
def test_a_marker_of_its_type_is_no_reading(value, kind):
    assert is_blank(value, kind)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (312.5, "double"),
        (2147483632, "ulonglong"),
        (700_000, "uint"),
        (0, "uint"),
        (0xFFFF, "uint"),
        (-1, "int"),
    ],
)
def test_the_same_number_in_another_type_may_be_a_reading(value, kind):
    assert not is_blank(value, kind)
