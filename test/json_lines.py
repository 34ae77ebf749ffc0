# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Compares lines of JSON with docs/json.schema.json: each has a type of the schema, the
# fields that are required, no field that the schema does not have, and values of its types.
#
# usage: json_lines.py SCHEMA TYPE... < LINES; the types have to be there

import json
import sys

KINDS = {"string": str, "array": list, "object": dict, "boolean": bool,
         "null": type(None)}


def is_of(value, kinds):
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        if kind == "number":
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return True
        elif isinstance(value, KINDS[kind]):
            return True
    return False


def problems(line, types):
    kind = types.get(line.get("type"))
    if kind is None:
        yield "no type of the schema: %s" % line.get("type")
        return
    for name in kind["required"]:
        if name not in line:
            yield "%s lacks %s" % (line["type"], name)
    for name, value in line.items():
        field = kind["properties"].get(name)
        if field is None:
            yield "%s has %s, which the schema does not have" % (line["type"], name)
        elif "type" in field and not is_of(value, field["type"]):
            yield "%s: %s is %s" % (line["type"], name, json.dumps(value)[:40])


with open(sys.argv[1]) as schema:
    types = json.load(schema)["$defs"]
lines = [json.loads(line) for line in sys.stdin]
found = [problem for line in lines for problem in problems(line, types)]
found += ["no line of type " + name for name in sys.argv[2:]
          if name not in [line.get("type") for line in lines]]
print("\n".join(found))
sys.exit(bool(found))
