"""Any message of ours, for hypothesis: built from the types the records announce."""

from typing import Any

import msgspec
from hypothesis import strategies as st

from easyrider.messages import ALL, Message

_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
_FINITE = st.floats(allow_nan=False, allow_infinity=False)


def any_value(kind: msgspec.inspect.Type) -> st.SearchStrategy[Any]:
    """Values of one field's type."""
    match kind:
        case msgspec.inspect.FloatType(ge=low, le=high):
            return st.floats(low, high) if low is not None and high is not None else _FINITE
        case msgspec.inspect.IntType(ge=low, le=high):
            return st.integers(-(2**63) if low is None else low, 2**63 - 1 if high is None else high)
        case msgspec.inspect.BoolType():
            return st.booleans()
        case msgspec.inspect.StrType(min_length=low, max_length=high, pattern=pattern):
            letters = st.characters(codec="utf-8", exclude_categories=_UNSEEN if pattern else ())
            return st.text(letters, min_size=low or 0, max_size=min(high or 20, 20))
        case msgspec.inspect.BytesType():
            return st.binary(max_size=64)
        case msgspec.inspect.NoneType():
            return st.none()
        case msgspec.inspect.LiteralType(values=values):
            return st.sampled_from(values)
        case msgspec.inspect.UnionType(types=types):
            return st.one_of(*map(any_value, types))
        case msgspec.inspect.VarTupleType(item_type=item):
            return st.lists(any_value(item), max_size=3).map(tuple)
        case msgspec.inspect.StructType(cls=record):
            return any_record(record)
    raise NotImplementedError(kind)


def any_record(record: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    """Any record of a type."""
    info = msgspec.inspect.type_info(record)
    assert isinstance(info, msgspec.inspect.StructType)
    return st.builds(record, **{field.name: any_value(field.type) for field in info.fields})


any_message: st.SearchStrategy[Message] = st.one_of(*map(any_record, ALL))
