"""The operations of the API for its page, from the OpenAPI document."""

from __future__ import annotations

from typing import Any


def operations(document: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """What can be done, by rooms, for a page: method, path, who may, what it does, and what it is given."""
    schemas = document["components"]["schemas"]
    rooms: dict[str, list[dict[str, Any]]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            room = (operation.get("tags") or ["more"])[0]
            given = [
                {"name": each["name"], "where": each["in"], "needed": each.get("required", False)}
                | {"kind": _kind(each.get("schema", {}), schemas), "said": each.get("description", "")}
                for each in operation.get("parameters", [])
            ]
            rooms.setdefault(room, []).append(
                {
                    "method": method.upper(),
                    "path": path,
                    "roles": operation["x-roles"],
                    "summary": operation.get("summary", ""),
                    "said": operation.get("description", ""),
                    "given": given + _body(operation, schemas),
                }
            )
    return rooms


def _body(operation: dict[str, Any], schemas: dict[str, Any]) -> list[dict[str, Any]]:
    """The fields of the JSON that is sent."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    schema = _named(content.get("schema", {}), schemas)
    needed = schema.get("required", [])
    return [
        {"name": name, "where": "body", "needed": name in needed}
        | {"kind": _kind(each, schemas), "said": each.get("description", "")}
        for name, each in schema.get("properties", {}).items()
    ]


def _named(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return found


def _kind(schema: dict[str, Any], schemas: dict[str, Any]) -> str:
    """In a word or two."""
    schema = _named(schema, schemas)
    parts = schema.get("anyOf") or schema.get("oneOf")
    if parts:
        return " or ".join(dict.fromkeys(k for each in parts if (k := _kind(each, schemas)) != "null"))
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    return str(schema.get("type", "any"))
