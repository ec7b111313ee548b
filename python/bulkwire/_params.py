"""Parameters as the native module takes them: numpy's scalars as Python's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._exceptions import UsageError

#: Parameters of a statement: named (`{"id": 1}` is `@id`) or in order (`@p1`, `@p2`, …).
Params = Mapping[str, Any] | Sequence[Any] | None


def plain(params: Params) -> Params:
    """The same parameters without numpy's scalars. A list with a float in it is a vector; other collections are no single value."""
    if params is None or isinstance(params, (str, bytes, bytearray)):
        return params
    if isinstance(params, Mapping):
        return {name: _value(name, value) for name, value in params.items()}
    if isinstance(params, Sequence):
        return [_value(f"@p{number}", value) for number, value in enumerate(params, 1)]
    return params


def _value(name: str, value: Any) -> Any:
    kind = type(value)
    if isinstance(value, (list, tuple)) and any(isinstance(item, float) for item in value):
        return value
    if isinstance(value, (list, tuple, set, frozenset, dict)):
        raise UsageError(
            f"parameter {name}: a {kind.__name__} is no single value; give each item a parameter of its own, "
            "pass it as JSON text for OPENJSON, or load it into a #table; a vector is a list of floats"
        )
    if kind.__module__ != "numpy" or not hasattr(value, "item") or getattr(value, "ndim", 0) != 0:
        return value
    if kind.__name__ in ("datetime64", "timedelta64"):
        return _moment(name, value)
    return value.item()


def _moment(name: str, value: Any) -> Any:
    """A datetime64 as a datetime, which has microseconds; None for NaT."""
    if value != value:
        return None
    micros = value.astype("datetime64[us]") if type(value).__name__ == "datetime64" else value
    if type(value).__name__ == "timedelta64" or micros != value:
        raise UsageError(f"parameter {name}: {value!r} has no SQL type that keeps it; convert it first")
    # A date without a time stays one.
    return value.item() if str(value.dtype) == "datetime64[D]" else micros.item()
