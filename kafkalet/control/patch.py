"""JSON Patch (RFC 6902) of a decoded response: the operations add, remove and replace."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from .shapes import Json

T = TypeVar("T")


class Patch:
    """Changes a response. It is the function `respond` of a fault."""

    def __init__(self, operations: Sequence[Mapping[str, Json]]) -> None:
        self.operations = list(operations)

    def __repr__(self) -> str:
        return repr(self.operations)

    def __call__(self, request: object, response: T) -> T:
        """Change the response. Raises ValueError if it has no field at a path."""
        for each in self.operations:
            *way, last = [part.replace("~1", "/").replace("~0", "~") for part in each["path"].split("/")[1:]] or [""]
            target: Json = response
            try:
                for part in way:
                    target = target[int(part)] if isinstance(target, list) else getattr(target, part)
                _apply(each["op"], target, last, each["value"])
            except (AttributeError, IndexError, ValueError) as error:
                raise ValueError(f"the {type(response).__name__} has no {each['path']}") from error
        return response


def _apply(op: str, target: Json, name: str, value: Json) -> None:
    if not isinstance(target, list):
        getattr(target, name)  # raises AttributeError if the message has no such field
        setattr(target, name, None if op == "remove" else value)
    elif op == "add":
        target.insert(len(target) if name == "-" else int(name), value)
    elif op == "remove":
        del target[int(name)]
    else:
        target[int(name)] = value
