"""Write the complete API of the clients for Go, Java and Node: types, and a method for each operation.

The OpenAPI document is the source.

python -m tools.clients
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
DOCUMENT = ROOT / "kafkalet" / "control" / "openapi.json"
CLIENTS = ROOT / "clients"
NOTE = "Written by `python -m tools.clients` from kafkalet/control/openapi.json."


class Field(NamedTuple):
    """A field of an object, or a parameter."""

    name: str
    type: "Type"
    description: str
    is_required: bool
    has_default: bool
    """Whether an absent value has another meaning than the zero value of its type."""


class Type(NamedTuple):
    """A type: `string`, `integer`, `number`, `boolean`, `any`, an object's name, or `list` or `map` of another type."""

    kind: str
    of: "Type | None" = None
    is_nullable: bool = False


class Operation(NamedTuple):
    """An operation of the API."""

    name: str
    method: str
    template: str
    description: str
    path: list[Field]
    query: list[Field]
    body: Type | None
    response: Type | None
    file: str
    """`sent` or `received` if the body or the response is a file, else an empty string."""


class Object(NamedTuple):
    """A schema with a name."""

    name: str
    description: str
    fields: list[Field]


def type_of(schema: Any) -> Type:
    if "$ref" in schema:
        return Type(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        shapes = [each for each in schema["anyOf"] if each != {"type": "null"}]
        references = [each for each in shapes if "$ref" in each]
        if len(shapes) == 1 or len(references) == len(shapes):
            return type_of(shapes[-1])._replace(is_nullable=len(shapes) == 1)
        return Type("any")
    kinds = schema.get("type", "any")
    kind, is_nullable = (kinds[0], True) if isinstance(kinds, list) else (kinds, False)
    if kind == "array":
        return Type("list", type_of(schema["items"]), is_nullable)
    if kind == "object":
        return Type("map", type_of(schema["additionalProperties"]), is_nullable)
    return Type(kind, None, is_nullable)


def field_of(name: str, schema: Any, description: str, is_required: bool) -> Field:
    return Field(name, type_of(schema), description, is_required, bool(schema.get("default")))


def read() -> tuple[list[Object], list[Operation]]:
    """Return the objects and the operations of the document."""
    document = json.loads(DOCUMENT.read_text())
    objects = []
    for name, schema in document["components"]["schemas"].items():
        if name in ("Error", "ErrorDetails"):  # an exception in each language
            continue
        required = schema.get("required", ())
        fields = [
            field_of(each, value, value["description"], each in required)
            for each, value in schema["properties"].items()
        ]
        objects.append(Object(name, schema["description"], fields))
    operations = [
        _operation(template, method.upper(), operation)
        for template, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    return objects, [each for each in operations if each.name != "streamEvents"]


def _operation(template: str, method: str, operation: Any) -> Operation:
    parameters: dict[str, list[Field]] = {"path": [], "query": []}
    for each in operation.get("parameters", ()):
        parameters[each["in"]].append(field_of(each["name"], each["schema"], each["description"], each["required"]))
    sent = operation.get("requestBody", {}).get("content", {})
    response = next(value for status, value in operation["responses"].items() if status.startswith("2"))
    received = response.get("content", {})
    file = "sent" if "application/octet-stream" in sent else ""
    return Operation(
        operation["operationId"],
        method,
        template,
        operation["description"],
        parameters["path"],
        parameters["query"],
        type_of(sent["application/json"]["schema"]) if "application/json" in sent else None,
        type_of(received["application/json"]["schema"]) if "application/json" in received else None,
        "received" if "application/octet-stream" in received else file,
    )


def reachable(objects: list[Object], types: Iterable[Type | None]) -> set[str]:
    """Return the names of the objects that the types contain."""
    by_name = {each.name: each for each in objects}
    left, found = list(types), set[str]()
    while left:
        kind = left.pop()
        if kind is not None and kind.of is not None:
            left.append(kind.of)
        elif kind is not None and kind.kind in by_name and kind.kind not in found:
            found.add(kind.kind)
            left += [field.type for field in by_name[kind.kind].fields]
    return found


def pascal(name: str) -> str:
    return "".join(part.capitalize() for part in re.sub("([a-z])([A-Z])", r"\1_\2", name).split("_"))


def camel(name: str) -> str:
    made = pascal(name)
    return made[0].lower() + made[1:]


def comment(text: str, prefix: str, width: int = 110) -> list[str]:
    """Return the lines of a comment; paragraphs are separated by an empty line."""
    paragraphs = [wrap(paragraph, width - len(prefix)) for paragraph in text.replace("`", "").split("\n\n")]
    lines = [line for index, each in enumerate(paragraphs) for line in (["", *each] if index else each)]
    return [f"{prefix}{line}".rstrip() for line in lines]


# Go


def go_name(name: str) -> str:
    return "".join(
        GO_NAMES.get(part, part.capitalize()) for part in re.sub("([a-z])([A-Z])", r"\1_\2", name).lower().split("_")
    )


GO_NAMES = {"acls": "ACLs", "api": "API", "apis": "APIs", "crc": "CRC", "id": "ID", "ids": "IDs", "isr": "ISR"}
GO_TYPES = {"string": "string", "integer": "int64", "number": "float64", "boolean": "bool", "any": "any"}


def go_type(kind: Type) -> str:
    if kind.of is not None:
        return f"{'[]' if kind.kind == 'list' else 'map[string]'}{go_type(kind.of)}"
    name = GO_TYPES.get(kind.kind, kind.kind)
    return f"*{name}" if kind.is_nullable and name != "any" else name


def go_struct(name: str, description: str, fields: list[Field]) -> Iterator[str]:
    yield from comment(f"{name}: {description[0].lower()}{description[1:]}", "// ")
    yield f"type {name} struct {{"
    for index, field in enumerate(fields):
        kind = go_type(field.type)
        if not field.is_required and field.has_default and field.type.of is None and not kind.startswith("*"):
            kind = f"*{kind}"
        if index:
            yield ""
        yield from comment(field.description, "\t// ")
        tag = field.name + ("" if field.is_required else ",omitempty")
        yield f'\t{go_name(field.name)} {kind} `json:"{tag}"`'
    yield "}"
    yield ""


GO_HEAD = f"""// Package api has a method of each operation of kafkalet's control API, and the types of its data.
//
// Optional fields are pointers if their default is not the zero value; [Ptr] makes one.
//
// {NOTE} DO NOT EDIT.
package api

import (
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

// API calls the operations. Its methods end the test with t.Fatal if they fail.
type API struct {{
	T testing.TB
	// Call sends the body as JSON unless it is nil or []byte, and decodes the response into result.
	Call func(method, path string, body, result any) error
}}

// Ptr returns a pointer to a value.
func Ptr[T any](value T) *T {{
	return &value
}}

func (api API) call(method, path string, body, result any) {{
	api.T.Helper()
	if err := api.Call(method, path, body, result); err != nil {{
		api.T.Fatal(err)
	}}
}}

// query returns the fields of a struct that are set as the query of a URL.
func query(fields any) string {{
	values := url.Values{{}}
	given := reflect.ValueOf(fields)
	for index := range given.NumField() {{
		name, _, _ := strings.Cut(given.Type().Field(index).Tag.Get("json"), ",")
		value := reflect.Indirect(given.Field(index))
		if !value.IsValid() || (value.IsZero() && given.Field(index).Kind() != reflect.Pointer) {{
			continue
		}}
		text := fmt.Sprint(value.Interface())
		if texts, ok := value.Interface().([]string); ok {{
			text = strings.Join(texts, ",")
		}}
		values.Set(name, text)
	}}
	return "?" + values.Encode()
}}
"""


def go(objects: list[Object], operations: list[Operation]) -> str:
    lines = [GO_HEAD]
    for each in objects:
        lines += go_struct(each.name, each.description, each.fields)
    for operation in operations:
        name = go_name(operation.name)
        if operation.query:
            lines += go_struct(f"{name}Query", f"The parameters of {name}.", operation.query)
        arguments = [f"{camel(each.name)} {go_type(each.type)}" for each in operation.path]
        path = re.sub(r"\{\w+\}", "%v", operation.template)
        names = [
            f"url.PathEscape({camel(each.name)})" if each.type.kind == "string" else camel(each.name)
            for each in operation.path
        ]
        where = f'fmt.Sprintf("{path}", {", ".join(names)})' if names else f'"{path}"'
        if operation.query:
            arguments.append(f"parameters {name}Query")
            where += "+query(parameters)"
        body = "nil"
        if operation.body is not None:
            arguments.append(f"body {go_type(operation.body)}")
            body = "body"
        if operation.file == "sent":
            arguments.append("file []byte")
            body = "file"
        result = go_type(operation.response) if operation.response else "[]byte" if operation.file == "received" else ""
        lines += comment(f"{name}: {operation.description[0].lower()}{operation.description[1:]}", "// ")
        lines.append(f"func (api API) {name}({', '.join(arguments)}) {result}{' ' if result else ''}{{")
        lines.append("\tapi.T.Helper()")
        if result:
            lines += [
                f"\tvar result {result}",
                f'\tapi.call("{operation.method}", {where}, {body}, &result)',
                "\treturn result",
            ]
        else:
            lines.append(f'\tapi.call("{operation.method}", {where}, {body}, nil)')
        lines += ["}", ""]
    return "\n".join(lines).rstrip() + "\n"


# Java

JAVA_TYPES = {"string": "String", "integer": "Long", "number": "Double", "boolean": "Boolean", "any": "Object"}
JAVA_HEAD = f"""package kafkalet;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * A method of each operation of kafkalet's control API, and the types of their requests and responses.
 *
 * <p>{NOTE}
 */
public final class Api {{
    private final Control control;

    Api(Control control) {{
        this.control = control;
    }}

    /** An object of the API: its fields by name. A field that is absent has its default. */
    public abstract static class Fields {{
        final Map<String, Object> json;

        Fields(Map<String, Object> json) {{
            this.json = json;
        }}

        /** The fields as JSON. */
        public Map<String, Object> json() {{
            return json;
        }}

        @Override
        public boolean equals(Object other) {{
            return other != null && other.getClass() == getClass() && json.equals(((Fields) other).json);
        }}

        @Override
        public int hashCode() {{
            return json.hashCode();
        }}

        @Override
        public String toString() {{
            return getClass().getSimpleName() + json;
        }}

        void set(String name, Object value) {{
            json.put(name, plain(value));
        }}

        @SuppressWarnings("unchecked")
        <T> T get(String name, Function<Object, T> as) {{
            Object value = json.get(name);
            return value == null ? null : as.apply(value);
        }}
    }}

    private static Object plain(Object value) {{
        if (value instanceof Fields fields) {{
            return fields.json;
        }}
        return value instanceof List<?> list ? list.stream().map(Api::plain).toList() : value;
    }}

    @SuppressWarnings("unchecked")
    private static Map<String, Object> map(Object json) {{
        return (Map<String, Object>) json;
    }}

    private static <T> List<T> list(Object json, Function<Object, T> as) {{
        List<T> found = new ArrayList<>();
        ((List<?>) json).forEach(each -> found.add(as.apply(each)));
        return found;
    }}

    private static <T> Map<String, T> map(Object json, Function<Object, T> as) {{
        Map<String, T> found = new LinkedHashMap<>();
        map(json).forEach((name, each) -> found.put(name, as.apply(each)));
        return found;
    }}

    private static Long asLong(Object json) {{
        return ((Number) json).longValue();
    }}

    private static Double asDouble(Object json) {{
        return ((Number) json).doubleValue();
    }}

    private static String encoded(Object value) {{
        String text = value instanceof List<?> list
                ? String.join(",", list.stream().map(String::valueOf).toList())
                : String.valueOf(value);
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }}

    private static String query(Fields parameters) {{
        List<String> parts = new ArrayList<>();
        parameters.json.forEach((name, value) -> parts.add(name + "=" + encoded(value)));
        return "?" + String.join("&", parts);
    }}
"""


JAVA_PRIMITIVES = {"Long": "long", "Double": "double", "Boolean": "boolean"}


def java_argument(field: Field) -> str:
    kind = java_type(field.type)
    return f"{JAVA_PRIMITIVES.get(kind, kind)} {camel(field.name)}"


def java_type(kind: Type) -> str:
    if kind.of is not None:
        return f"{'List<' if kind.kind == 'list' else 'Map<String, '}{java_type(kind.of)}>"
    return JAVA_TYPES.get(kind.kind, kind.kind)


def java_read(kind: Type, value: str) -> str:
    """Return an expression that reads a value of JSON."""
    if kind.of is not None:
        each = "item" if value == "each" else "each"
        return f"{kind.kind}({value}, {each} -> {java_read(kind.of, each)})"
    if kind.kind in ("integer", "number"):
        return f"as{java_type(kind)}({value})"
    if kind.kind in JAVA_TYPES:
        return value if kind.kind == "any" else f"({java_type(kind)}) {value}"
    return f"new {kind.kind}(map({value}))"


def java_doc(text: str, indent: str) -> list[str]:
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    lines = comment(text, "", 100)
    if len(lines) == 1:
        return [f"{indent}/** {lines[0]} */"]
    body = [f"{indent} * {'<p>' if lines[at - 1] == '' and at else ''}{line}".rstrip() for at, line in enumerate(lines)]
    return [f"{indent}/**", *body, f"{indent} */"]


def java_class(name: str, description: str, fields: list[Field], *, is_sent: bool, is_received: bool) -> Iterator[str]:
    """Yield a class. Objects that are sent have setters; objects that are received have getters."""
    yield ""
    yield from java_doc(description, "    ")
    yield f"    public static final class {name} extends Fields {{"
    if is_sent:
        yield from java_constructor(name, [each for each in fields if each.is_required])
    if is_received:
        if is_sent:
            yield ""
        yield f"        {name}(Map<String, Object> json) {{"
        yield "            super(json);"
        yield "        }"
    for each in fields:
        kind, word = java_type(each.type), camel(each.name)
        if is_received:
            yield ""
            yield from java_doc(each.description, "        ")
            result = kind if each.type.is_nullable else JAVA_PRIMITIVES.get(kind, kind)
            yield f"        public {result} {word}() {{"
            yield f'            return get("{each.name}", value -> {java_read(each.type, "value")});'
            yield "        }"
        if is_sent and not each.is_required:
            yield ""
            yield from java_doc(each.description, "        ")
            yield f"        public {name} {word}({java_argument(each)}) {{"
            yield f'            set("{each.name}", {word});'
            yield "            return this;"
            yield "        }"
    yield "    }"


def java_constructor(name: str, required: list[Field]) -> Iterator[str]:
    arguments = ", ".join(map(java_argument, required))
    yield from java_doc(
        "An object with its required fields." if required else "An object with the defaults.", "        "
    )
    yield f"        public {name}({arguments}) {{"
    yield "            super(new LinkedHashMap<>());"
    for each in required:
        yield f'            set("{each.name}", {camel(each.name)});'
    yield "        }"


def java(objects: list[Object], operations: list[Operation]) -> str:
    lines = [JAVA_HEAD.rstrip()]
    for operation in operations:
        arguments = [java_argument(each) for each in operation.path]
        parts = re.split(r"\{(\w+)\}", operation.template)
        where = " + ".join(
            f'"{part}"' if at % 2 == 0 else f"encoded({camel(part)})" for at, part in enumerate(parts) if part
        )
        body = "null"
        if operation.query:
            query = f"{pascal(operation.name)}Query"
            arguments.append(f"{query} parameters")
            where += " + query(parameters)"
        if operation.body is not None:
            arguments.append(f"{java_type(operation.body)} body")
            body = "body.json"
        if operation.file == "sent":
            arguments.append("byte[] file")
        result = (
            java_type(operation.response)
            if operation.response
            else "byte[]"
            if operation.file == "received"
            else "void"
        )
        lines += ["", *java_doc(operation.description, "    ")]
        lines.append(f"    public {result} {operation.name}({', '.join(arguments)}) {{")
        call = f'control.control("{operation.method}", {where}, {body})'
        if operation.file:
            file = "file" if operation.file == "sent" else "new byte[0]"
            kind = "octet-stream" if operation.file == "sent" else "json"
            call = f'control.send("{operation.method}", {where}, "application/{kind}", {file})'
        returned = java_read(operation.response, call) if operation.response else call
        lines.append(f"        {'' if result == 'void' else 'return '}{returned};")
        lines.append("    }")
    sent = reachable(objects, [each.body for each in operations])
    received = reachable(objects, [each.response for each in operations])
    for each in objects:
        is_sent, is_received = each.name in sent, each.name in received
        lines += java_class(each.name, each.description, each.fields, is_sent=is_sent, is_received=is_received)
    for operation in operations:
        if operation.query:
            name = pascal(operation.name)
            description = f"The parameters of {operation.name}."
            lines += java_class(f"{name}Query", description, operation.query, is_sent=True, is_received=False)
    return "\n".join([*lines, "}"]) + "\n"


# Node


def ts_type(kind: Type) -> str:
    if kind.of is not None:
        inner = f"Array<{ts_type(kind.of)}>" if kind.kind == "list" else f"{{ [name: string]: {ts_type(kind.of)} }}"
    else:
        inner = {"integer": "number", "any": "unknown"}.get(kind.kind, kind.kind)
    return f"{inner} | null" if kind.is_nullable else inner


def ts_doc(text: str, indent: str) -> list[str]:
    lines = comment(text, "", 110)
    return (
        [f"{indent}/** {lines[0]} */"]
        if len(lines) == 1
        else [f"{indent}/**", *(f"{indent} * {line}".rstrip() for line in lines), f"{indent} */"]
    )


def ts_interface(name: str, description: str, fields: list[Field]) -> Iterator[str]:
    yield from ts_doc(description, "")
    yield f"export interface {name} {{"
    for each in fields:
        yield from ts_doc(each.description, "  ")
        yield f"  {each.name}{'' if each.is_required else '?'}: {ts_type(each.type)}"
    yield "}"
    yield ""


def node_arguments(operation: Operation) -> list[tuple[str, str, str]]:
    """Return the arguments of a method: names, types, and default values."""
    found = [(camel(each.name), ts_type(each.type), "") for each in operation.path]
    if operation.query:
        is_required = any(each.is_required for each in operation.query)
        found.append(("parameters", f"{pascal(operation.name)}Query", "" if is_required else "{}"))
    if operation.body is not None:
        found.append(("body", ts_type(operation.body), ""))
    if operation.file == "sent":
        found.append(("file", "Uint8Array", ""))
    return found


def node(operations: list[Operation]) -> str:
    lines = [
        "// A method of each operation of kafkalet's control API.",
        "//",
        f"// {NOTE}",
        "",
        "/** The operations of the API. `call` sends a request, and resolves to its response: JSON or bytes. */",
        "export class Api {",
        "  #call",
        "",
        "  constructor (call) {",
        "    this.#call = call",
        "  }",
    ]
    for operation in operations:
        arguments = node_arguments(operation)
        path = re.sub(r"\{(\w+)\}", lambda found: f"${{encodeURIComponent({camel(found[1])})}}", operation.template)
        path += "${query(parameters)}" if operation.query else ""
        quote = "`" if "${" in path else "'"
        rest = (
            f", {'file' if operation.file == 'sent' else 'body'}" if operation.body or operation.file == "sent" else ""
        )
        shown = ", ".join(f"{name} = {default}" if default else name for name, _, default in arguments)
        lines += [
            "",
            f"  async {operation.name} ({shown}) {{",
            f"    return await this.#call('{operation.method}', {quote}{path}{quote}{rest})",
            "  }",
        ]
    lines += [
        "}",
        "",
        "function query (parameters) {",
        "  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null)",
        "  return `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`",
        "}",
    ]
    return "\n".join(lines) + "\n"


def node_types(objects: list[Object], operations: list[Operation]) -> str:
    lines = ["// The types of api.mjs.", "//", f"// {NOTE}", ""]
    for each in objects:
        lines += ts_interface(each.name, each.description, each.fields)
    for operation in operations:
        if operation.query:
            name = f"{pascal(operation.name)}Query"
            lines += ts_interface(name, f"The parameters of {operation.name}.", operation.query)
    lines += ["/** The operations of the API. */", "export class Api {"]
    lines.append("  constructor (call: (method: string, path: string, body?: unknown) => Promise<any>)")
    for operation in operations:
        shown = ", ".join(
            f"{name}{'?' if default else ''}: {kind}" for name, kind, default in node_arguments(operation)
        )
        result = (
            ts_type(operation.response) if operation.response else "Buffer" if operation.file == "received" else "void"
        )
        lines += ["", *ts_doc(operation.description, "  "), f"  {operation.name} ({shown}): Promise<{result}>"]
    return "\n".join([*lines, "}"]) + "\n"


def files() -> dict[Path, str]:
    """Return the text of each file."""
    objects, operations = read()
    return {
        CLIENTS / "go" / "api" / "api.go": go(objects, operations),
        CLIENTS / "java" / "src" / "main" / "java" / "kafkalet" / "Api.java": java(objects, operations),
        CLIENTS / "node" / "api.mjs": node(operations),
        CLIENTS / "node" / "api.d.mts": node_types(objects, operations),
    }


if __name__ == "__main__":
    for path, text in files().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
