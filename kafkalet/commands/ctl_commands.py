"""The commands of `kafkalet ctl`, derived from the operations of the control API.

An operation is a command: `POST /v1/topics/{name}/partitions/{partition}/truncate` is `partition truncate TOPIC
PARTITION TO`. Parameters of the path and required fields are words; other parameters and fields are options. FORMS
has the exceptions. The operations are read from the OpenAPI document, because their declarations import the broker.
"""

import base64
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, NamedTuple

from kafkalet.control.client import ControlClient, ControlError, Json
from kafkalet.units import counted

from .command_line import Failure, Option, UsageError, print_line, split

MAX_WAIT_S = 3600.0
"""If an operation waits, the command waits for the response this much longer than the operation may take."""
MAX_LINES = 10_000
"""The largest number of records that one request sends."""
MAX_JSON_BYTES = 8 << 20
"""Records whose JSON is larger than this together are sent in several requests. The API accepts 16 MiB."""

Schema = Mapping[str, Any]
UNITS = {"timeout": "SECONDS", "delay": "SECONDS", "throttle": "SECONDS"}
"""The words of durations. The name of another duration ends in `_ms`."""


@cache
def document() -> Json:
    """Return the OpenAPI document of the control API."""
    return json.loads((files("kafkalet.control") / "openapi.json").read_bytes())


def resolved(schema: Schema) -> Schema:
    """Return a schema, or the component that it refers to, without null among its types."""
    if "$ref" in schema:
        component: Schema = document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return component
    if isinstance(schema.get("type"), list):
        return {**schema, "type": schema["type"][0]}
    shapes = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    return resolved(shapes[0]) if len(shapes) == 1 else schema


class Input(NamedTuple):
    """A parameter or a field of an operation."""

    field: str
    place: str
    """`path`, `query` or `body`."""
    schema: Schema
    is_required: bool
    description: str
    option: str
    """The name of the option."""
    word: str
    """The value in a usage line: `TOPIC`, or an empty string for a flag."""
    is_data: bool
    """Whether the field is text or base64, and another field has its encoding."""

    @property
    def items(self) -> Schema | None:
        """The schema of each of several values, or None if there is one value."""
        shapes = [resolved(each) for each in self.schema.get("anyOf", (self.schema,))]
        return next((resolved(each["items"]) for each in shapes if each.get("type") == "array"), None)

    @property
    def is_repeatable(self) -> bool:
        return self.items is not None or "additionalProperties" in self.schema

    @property
    def may_be_boolean(self) -> bool:
        """Whether `true` or `false` can take the place of several values."""
        return any(resolved(each).get("type") == "boolean" for each in self.schema.get("anyOf", ()))

    @property
    def help(self) -> str:
        default = self.schema.get("default")
        allowed = [each for each in self.schema.get("enum", ()) if each is not None]
        text = [re.sub(r", as in `\{.*?\}`|`", "", self.description)]  # an example of JSON
        if any(each not in self.description for each in allowed):
            text.append(f"One of {', '.join(allowed)}.")
        if default not in (None, False, []):
            text.append(f"The default is {_text(default)}.")
        return " ".join([*text, *(["Repeatable."] if self.is_repeatable else [])])

    def fields(self, texts: Sequence[str], what: str) -> dict[str, Json]:
        """Return the field with the value that these words stand for, and its encoding. Raises UsageError."""
        if "additionalProperties" in self.schema:
            given = dict(split(what, "KEY=VALUE", text) for text in texts)
            may_be_null = "null" in self.schema["additionalProperties"].get("type", ())
            return {self.field: {name: value or None if may_be_null else value for name, value in given.items()}}
        if self.may_be_boolean and list(texts) in (["true"], ["false"]):
            return {self.field: texts[0] == "true"}
        if self.items is not None:
            return {self.field: [_parsed(self.items, what, text) for text in texts]}
        if self.is_data:
            return data_fields(self.field, os.fsencode(texts[-1]))
        return {self.field: _parsed(self.schema, what, texts[-1]) if self.word else True}


def _text(value: Json) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parsed(schema: Schema, what: str, text: str) -> Json:
    """Return the value that a word stands for. Raises UsageError if the value must be a number and is none."""
    if "anyOf" in schema:
        return integer(what, text) if text.removeprefix("-").isdecimal() else text
    match schema.get("type"):
        case "integer":
            return integer(what, text)
        case "number":
            return number(what, text)
        case "boolean":
            return text == "true" if text in ("true", "false") else text
        case "array":
            return [_parsed(resolved(schema["items"]), what, part) for part in text.split(",")]
        case "object" if "value_encoding" in schema["properties"]:
            name, value = split(what, "NAME=VALUE", text)
            return {"name": name, **data_fields("value", os.fsencode(value))}
        case "object":
            try:
                return json.loads(text)
            except ValueError:
                raise UsageError(f"{what} {text}: expected JSON with {', '.join(schema['properties'])}") from None
    return text


def integer(what: str, text: str) -> int:
    if not text.removeprefix("-").isdecimal() or not text.isascii():
        raise UsageError(f"{what} {text}: expected a whole number")
    return int(text)


def number(what: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{what} {text}: expected a number") from None


def data_fields(name: str, data: bytes) -> dict[str, Json]:
    """Return bytes as a field and its encoding: text if they are UTF-8, else base64."""
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {name: base64.b64encode(data).decode(), f"{name}_encoding": "base64"}


class Given(NamedTuple):
    """The values of a command line: the parameters and fields of the operation, and the remaining words."""

    path: dict[str, Json]
    query: dict[str, Json]
    body: dict[str, Json]
    extra: Sequence[str]


Run = Callable[[ControlClient, "Command", Given], Json]


class Form(NamedTuple):
    """How a command differs from the default derived from its operation."""

    name: str = ""
    arguments: tuple[str, ...] = ()
    """Optional fields that are given as words."""
    extra: tuple[str, ...] = ()
    """Words that are not fields."""
    hidden: tuple[str, ...] = ()
    """Fields that `run` sets."""
    run: Run | None = None
    help: str = ""


class Command:
    """A command of `kafkalet ctl`: an operation of the API."""

    def __init__(self, method: str, template: str, operation: Json, form: Form) -> None:
        self.method = method
        self.template = template
        self.operation = operation
        self.form = form
        self.name = form.name or _name(method, template, operation["operationId"])

    @property
    def tag(self) -> str:
        """The area of the operation."""
        return str(self.operation["tags"][0])

    @property
    def help(self) -> str:
        """One line about the command."""
        return self.form.help or _shown(self.operation["summary"])

    @property
    def description(self) -> str:
        return _shown(self.operation["description"])

    @cached_property
    def inputs(self) -> list[Input]:
        """The parameters and fields, without those that the form hides."""
        parts = self.template.split("/")
        found = [
            _input(each["name"], each["in"], each, parts[parts.index(f"{{{each['name']}}}") - 1])
            if each["in"] == "path"
            else _input(each["name"], "query", each)
            for each in self.operation.get("parameters", ())
        ]
        schema = self.operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        for shape in map(resolved, schema.get("anyOf", (schema,) if schema else ())):
            required = shape.get("required", ()) if "anyOf" not in schema else ()
            names = shape["properties"]
            for name, each in names.items():
                if name.removesuffix("_encoding") in {*names} - {name}:
                    continue
                given = {"schema": each, "required": name in required, "description": each["description"]}
                made = _input(name, "body", given, parts[-1] if name == "name" else "", names)
                found.append(made)
        return [each for each in found if each.field not in self.form.hidden]

    @cached_property
    def arguments(self) -> list[Input]:
        """The inputs that are given as words."""
        required = [each for each in self.inputs if each.is_required]
        return required + [each for name in self.form.arguments for each in self.inputs if each.field == name]

    @cached_property
    def options(self) -> list[Option]:
        words = {each.field for each in self.arguments}
        return [
            Option(f"--{each.option}", each.word, each.help, each.is_repeatable)
            for each in self.inputs
            if each.field not in words
        ]

    @property
    def usage(self) -> str:
        words = [f"{each.word}..." if each.is_repeatable else each.word for each in self.arguments]
        shown = [word if each.is_required else f"[{word}]" for word, each in zip(words, self.arguments, strict=True)]
        return " ".join([self.name, *shown, *self.extra])

    @property
    def extra(self) -> tuple[str, ...]:
        """The words that are not fields."""
        return (*self.form.extra, "FILE") if self.is_file else self.form.extra

    @property
    def is_file(self) -> bool:
        """Whether the operation sends or receives a file."""
        return "application/octet-stream" in (self.consumes, self.produces)

    @property
    def consumes(self) -> str:
        return next(iter(self.operation.get("requestBody", {}).get("content", ())), "")

    @property
    def produces(self) -> str:
        return next(iter(self._success.get("content", ())), "")

    @property
    def response(self) -> Schema | None:
        """The schema of the response, or None if it is no JSON."""
        schema: Schema | None = self._success.get("content", {}).get("application/json", {}).get("schema")
        return schema

    @property
    def _success(self) -> Json:
        return next(each for status, each in self.operation["responses"].items() if status.startswith("2"))

    def given(self, words: Sequence[str], options: Mapping[str, list[str]]) -> Given:
        """Return the values of a command line. Raises UsageError."""
        left = list(words)
        made = Given({}, {}, {}, [])
        for index, each in enumerate(self.arguments):
            count = len(left) if each.is_repeatable and index == len(self.arguments) - 1 else 1
            texts, left = left[:count], left[count:]
            if texts:
                getattr(made, each.place).update(each.fields(texts, each.word))
            elif each.is_required:
                raise UsageError(f"{each.word} is missing: kafkalet ctl {self.usage}")
        if len(left) < len(self.extra):
            raise UsageError(f"{self.extra[len(left)]} is missing: kafkalet ctl {self.usage}")
        if len(left) > len(self.extra):
            raise UsageError(f"unknown argument {left[len(self.extra)]}: kafkalet ctl {self.usage}")
        for each in self.inputs:
            if texts := options.get(each.option, []):
                getattr(made, each.place).update(each.fields(texts, f"--{each.option}"))
        return made._replace(extra=left)

    def run(self, client: ControlClient, given: Given) -> Json:
        """Send the request, and return the response. Raises ControlError, Failure or UsageError."""
        if self.form.run is not None:
            return self.form.run(client, self, given)
        if self.produces == "text/event-stream":
            return _print_events(client, given)
        if not self.is_file:
            return self.ask(client, given)
        try:
            if self.produces:
                data = self.ask(client, given)
                with open(given.extra[-1], "wb") as file:
                    file.write(data)
                return None
            with open(given.extra[-1], "rb") as file:
                data = file.read()
        except OSError as error:
            raise Failure(f"{given.extra[-1]}: {error.strerror}") from error
        return self.ask(client, given, data)

    def ask(self, client: ControlClient, given: Given, data: bytes | None = None) -> Json:
        """Send the request of the operation."""
        timeout_s = given.body.get("timeout", 0.0) + MAX_WAIT_S if "408" in self.operation["responses"] else 0.0
        return client.ask(
            self.method,
            re.sub(r"\{\w+\}", "{}", self.template),
            *given.path.values(),
            query=given.query,
            body=given.body or None,
            data=data,
            timeout_s=timeout_s,
        )


def _input(name: str, place: str, given: Json, collection: str = "", others: Iterable[str] = ()) -> Input:
    """Return a parameter or a field. `collection` is the part of the path that a name or id belongs to."""
    schema = resolved(given["schema"])
    option, unit = name.replace("_", "-"), UNITS.get(name, "")
    if name.endswith("_ms") and name.removesuffix("_ms") not in others:
        option, unit = option.removesuffix("-ms"), "MS"
    item = resolved(schema["items"]) if "items" in schema else schema
    if schema.get("type") == "array" or any(resolved(each).get("type") == "array" for each in schema.get("anyOf", ())):
        option = option.removesuffix("s")
    if "additionalProperties" in schema:
        word = "KEY=VALUE"
    elif schema.get("type") == "boolean":
        word = "BOOLEAN" if schema.get("default") or given.get("required") else ""
    elif item.get("type") == "object":
        word = "NAME=VALUE" if "value_encoding" in item["properties"] else "JSON"
    elif item.get("type") == "array":
        word = "N,..."
    elif schema.get("type") in ("integer", "number") and not collection and not given.get("required"):
        word = unit or "N"
    else:
        word = unit or (collection.removesuffix("s") or option).upper().replace("-", "_")
    is_required = bool(given.get("required"))
    return Input(name, place, schema, is_required, given["description"], option, word, f"{name}_encoding" in others)


def _name(method: str, template: str, operation_id: str) -> str:
    """Return the name of a command: `topics`, `topic show`, `topic create`, `partition truncate` or `clock advance`."""
    parts = template.split("/")[2:]
    verb, noun = re.findall("^[a-z]+|.+", operation_id)[0], operation_id.lstrip("abcdefghijklmnopqrstuvwxyz").lower()
    if len(parts) == 1:
        noun = noun.removesuffix("s") if method == "POST" else noun
        return parts[0] if method == "GET" or not noun or not parts[0].endswith("s") else f"{noun} {verb}"
    if parts[-1].startswith("{"):
        return f"{parts[-2].removesuffix('s')} {'show' if method == 'GET' else verb}"
    if parts[-1] == "release" and not parts[-2].startswith("{"):  # undoes the operation before it
        parts = [*parts[:-2], "-".join(re.findall("[a-z]+|[A-Z][a-z]*", operation_id)).lower()]
    has_owner = parts[-2].startswith("{")
    return f"{parts[-3].removesuffix('s') if has_owner else parts[-2]} {parts[-1]}"


def _shown(text: str) -> str:
    return re.sub("^Return ", "Show ", text).replace("`", "")


# Commands with a form of their own


def _print_events(client: ControlClient, given: Given) -> None:
    for name, data in client.events(",".join(given.query.get("only", ()))):
        print_line(json.dumps({"event": name, **data}, ensure_ascii=False))


def _send(client: ControlClient, command: Command, given: Given) -> Json:
    """Send a record, or the lines of stdin in several requests. Their positions are summarized by partition."""
    compression = given.body.pop("compression", None)

    def send(records: list[dict[str, Json]]) -> list[Json]:
        body = {"records": records, "compression": compression}
        sent: list[Json] = command.ask(client, given._replace(body=body))["records"]
        return sent

    if "value" in given.body:
        return {"records": send([given.body])}
    count = 0
    partitions: dict[int, dict[str, int]] = {}
    for records in _parts({**given.body, **data_fields("value", each)} for each in _lines()):
        try:
            sent = send(records)
        except ControlError as error:
            if count:
                error.message += f"; {counted(count, 'record')} sent before"
            raise
        count += len(sent)
        for partition, offset in ((each["partition"], each["offset"]) for each in sent):
            known = partitions.setdefault(partition, {"partition": partition, "count": 0, "first_offset": offset})
            known |= {"count": known["count"] + 1, "last_offset": offset}
    return {"sent": [partitions[partition] for partition in sorted(partitions)]}


def _parts(records: Iterable[dict[str, Json]]) -> Iterator[list[dict[str, Json]]]:
    """Distribute records among requests."""
    part: list[dict[str, Json]] = []
    size = 0
    for record in records:
        record_size = len(json.dumps(record))
        if part and (len(part) == MAX_LINES or size + record_size > MAX_JSON_BYTES):
            yield part
            part, size = [], 0
        part.append(record)
        size += record_size
    if part:
        yield part


def _lines() -> Iterator[bytes]:
    if sys.stdin is None:
        raise Failure("there is no stdin to read records from; give a VALUE")
    for line in sys.stdin.buffer:
        yield line.removesuffix(b"\n").removesuffix(b"\r")


def _advance_clock(client: ControlClient, command: Command, given: Given) -> Json:
    return command.ask(client, given._replace(body={**given.body, **duration(given.extra[0])}))


DURATION_UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def duration(text: str) -> dict[str, float]:
    """Return a duration such as `90m` or `1.5h` as a field of the API."""
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = DURATION_UNITS.get(text[len(digits) :])
    try:
        value = float(digits)
    except ValueError:
        unit = None
    if unit is None:
        raise UsageError(f"{text} is not a duration; expected a number and ms, s, m, h or d, as in 90m")
    return {unit: value}


def _add_user(client: ControlClient, command: Command, given: Given) -> Json:
    password = sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise UsageError(f"the password is missing; expected it on stdin: kafkalet ctl {command.usage} < FILE")
    return command.ask(client, given._replace(body={**given.body, "password": password}))


FORMS = {
    "sendRecords": Form(
        "send",
        ("value",),
        hidden=("records",),
        run=_send,
        help="Send a record, or each line of stdin if VALUE is missing",
    ),
    "readRecords": Form("records"),
    "waitForRecords": Form("wait", ("n",)),
    "seekGroup": Form(arguments=("offset",)),
    "seekShareGroup": Form(arguments=("offset",)),
    "sendInTransaction": Form("transaction send", ("value",)),
    "sendOffsetsInTransaction": Form("transaction send-offsets"),
    "addFault": Form(arguments=("api",)),
    "advanceClock": Form(
        extra=("DURATION",),
        hidden=tuple(DURATION_UNITS.values()),
        run=_advance_clock,
        help="Advance the clock, by 90m or 7d for example, and run everything that becomes due",
    ),
    "addUser": Form(hidden=("password",), run=_add_user, help="Create a user with the password on stdin, or change it"),
    "takeSnapshot": Form(help="Write a copy of the contents to a file"),
    "getClientConfig": Form(arguments=("user",), help="Print the settings with which a client logs in"),
}
"""By operation."""


@cache
def commands() -> dict[str, Command]:
    """Return all commands by name, in the order of the document."""
    found = [
        Command(method.upper(), template, operation, FORMS.get(operation["operationId"], Form()))
        for template, operations in document()["paths"].items()
        for method, operation in operations.items()
    ]
    return {command.name: command for command in found}
