"""Selectors as the query of a request."""


def selectors(*, labels: str, fields: str) -> dict[str, str]:
    named = {"labelSelector": labels, "fieldSelector": fields}
    return {name: value for name, value in named.items() if value}
