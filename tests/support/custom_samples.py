"""A custom resource with every way a schema can merge, and objects of it."""

from support.desired_samples import Object, sample

SCHEMA: Object = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer", "default": 3},
                "note": {"type": "string"},
                "enabled": {"type": "boolean"},
                "limit": {"x-kubernetes-int-or-string": True},
                "parts": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "name": {"type": "string"},
                            "mode": {"type": "string", "default": "safe"},
                            "more": {
                                "type": "object",
                                "default": {},
                                "properties": {"deep": {"type": "integer", "default": 1}},
                            },
                        },
                    },
                },
                "hosts": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name", "port"],
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {
                            "name": {"type": "string"},
                            "port": {"type": "integer", "default": 80},
                            "weight": {"type": "integer"},
                        },
                    },
                },
                "zones": {
                    "type": "array",
                    "x-kubernetes-list-type": "set",
                    "items": {"type": "string"},
                },
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "pick": {
                    "type": "object",
                    "x-kubernetes-map-type": "atomic",
                    "additionalProperties": {"type": "string"},
                },
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        },
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}

DEFINITION: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "mergers.compare.test"},
    "spec": {
        "group": "compare.test",
        "scope": "Namespaced",
        "names": {"kind": "Merger", "plural": "mergers"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": SCHEMA},
                "subresources": {"status": {}},
            }
        ],
    },
}

MERGER = sample(
    """
apiVersion: compare.test/v1
kind: Merger
metadata: {name: it}
spec:
  size: 2
  note: hello
  enabled: true
  limit: 10%
  parts: [{name: a}, {name: b, mode: fast, more: {deep: 2}}]
  hosts: [{name: one, weight: 1}, {name: one, port: 81}, {name: two}]
  zones: [a, b]
  labels: {x: "1", z: ""}
  pick: {x: "1"}
  free: {a: {b: [1, true]}, c: 0}
""",
    """
apiVersion: compare.test/v1
kind: Merger
metadata: {name: it, labels: {app: web}}
spec:
  size: 0
  enabled: false
  note: ""
  limit: 5
  parts: [{name: c, more: {}}]
  hosts: [{name: three, port: 80}]
  zones: [c, a]
  labels: {x: "2", w: "3"}
  pick: {x: "2", z: "3"}
  free: {a: {b: [], d: 1}, e: {}, f: null}
""",
)
