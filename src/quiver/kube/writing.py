"""Creating, changing and deleting objects, and their subresources."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from quiver.kube.calls import Calls, Object, decoded, subject_of
from quiver.kube.errors import NotFound
from quiver.kube.request import JSON
from quiver.kube.selectors import selectors

FieldValidation: TypeAlias = Literal["Ignore", "Warn", "Strict"]
Propagation: TypeAlias = Literal["Foreground", "Background", "Orphan"]

APPLY_PATCH = "application/apply-patch+yaml"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"


class Writing(Calls):
    async def create(
        self,
        obj: Object,
        *,
        dry_run: bool = False,
        field_validation: FieldValidation | None = None,
    ) -> Object:
        """Fails with `AlreadyExists` where there is one. Never sent twice."""
        return decoded(
            await self.create_raw(obj, dry_run=dry_run, field_validation=field_validation)
        )

    async def create_raw(
        self,
        obj: Object,
        *,
        dry_run: bool = False,
        field_validation: FieldValidation | None = None,
    ) -> bytes:
        """As `create`, for who keeps the bytes."""
        metadata = obj["metadata"]
        resource = await self.discovery.find(obj["apiVersion"], obj["kind"])
        namespace = self._namespace(resource, metadata.get("namespace"))
        name = metadata.get("name") or metadata.get("generateName")
        return await self._exchange(
            "POST",
            resource.url(namespace, None),
            obj,
            subject=subject_of("create", obj["kind"], namespace, name),
            query=_options(self._manager, dry_run, field_validation),
        )

    async def create_subresource(
        self,
        api_version: str,
        kind: str,
        name: str,
        subresource: str,
        body: Object,
        namespace: str | None = None,
        *,
        dry_run: bool = False,
    ) -> Object:
        """POST to a subresource that acts: `eviction`, `token`, `binding`."""
        url, subject = await self._one("create", api_version, kind, name, namespace, subresource)
        query = _options(None, dry_run)
        return await self._write("POST", url, body, subject=subject, query=query)

    async def apply(
        self,
        obj: Object,
        *,
        force: bool = False,
        subresource: str | None = None,
        manager: str | None = None,
        dry_run: bool = False,
        field_validation: FieldValidation | None = None,
    ) -> Object:
        """Server-side apply. Without `force`, fields of others are an `ApplyConflict`."""
        return decoded(
            await self.apply_raw(
                obj, force=force, subresource=subresource, manager=manager,
                dry_run=dry_run, field_validation=field_validation,
            )
        )  # fmt: skip

    async def apply_raw(
        self,
        obj: Object,
        *,
        force: bool = False,
        subresource: str | None = None,
        manager: str | None = None,
        dry_run: bool = False,
        field_validation: FieldValidation | None = None,
    ) -> bytes:
        """As `apply`, for who keeps the bytes."""
        url, subject = await self._addressed("apply", obj, subresource)
        options = _options(manager or self._manager, dry_run, field_validation)
        return await self._exchange(
            "PATCH",
            url,
            obj,
            subject=subject,
            query=options | {"force": str(force).lower()},
            content_type=APPLY_PATCH,
            # With a version it is a compare-and-swap: our own lost success would be a conflict.
            may_repeat="resourceVersion" not in obj["metadata"],
        )

    async def patch(
        self,
        api_version: str,
        kind: str,
        name: str,
        patch: Object,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        dry_run: bool = False,
        field_validation: FieldValidation | None = None,
    ) -> Object:
        """A merge patch: null removes, lists are replaced whole."""
        url, subject = await self._one("patch", api_version, kind, name, namespace, subresource)
        query = _options(self._manager, dry_run, field_validation)
        return await self._write(
            "PATCH", url, patch, subject=subject, query=query, content_type=MERGE_PATCH
        )

    async def json_patch(
        self,
        api_version: str,
        kind: str,
        name: str,
        operations: Sequence[Mapping[str, Any]],
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        dry_run: bool = False,
        field_validation: FieldValidation | None = None,
    ) -> Object:
        """RFC 6902; a `test` that does not hold is `Invalid`."""
        url, subject = await self._one("patch", api_version, kind, name, namespace, subresource)
        query = _options(self._manager, dry_run, field_validation)
        return await self._write(
            "PATCH", url, operations, subject=subject, query=query, content_type=JSON_PATCH
        )

    async def replace(
        self,
        obj: Object,
        *,
        subresource: str | None = None,
        dry_run: bool = False,
        field_validation: FieldValidation | None = None,
    ) -> Object:
        """Compare-and-swap: `metadata.resourceVersion` must still be the server's."""
        return decoded(
            await self.replace_raw(
                obj, subresource=subresource, dry_run=dry_run, field_validation=field_validation
            )
        )

    async def replace_raw(
        self,
        obj: Object,
        *,
        subresource: str | None = None,
        dry_run: bool = False,
        field_validation: FieldValidation | None = None,
    ) -> bytes:
        """As `replace`, for who keeps the bytes."""
        if not obj["metadata"].get("resourceVersion"):
            raise ValueError("replace needs metadata.resourceVersion; apply does not")
        url, subject = await self._addressed("replace", obj, subresource)
        query = _options(self._manager, dry_run, field_validation)
        return await self._exchange("PUT", url, obj, subject=subject, query=query)

    async def delete(
        self,
        api_version: str,
        kind: str,
        name: str,
        namespace: str | None = None,
        *,
        missing_ok: bool = False,
        uid: str | None = None,
        version: str | None = None,
        propagation: Propagation | None = None,
        grace_seconds: int | None = None,
        dry_run: bool = False,
    ) -> None:
        """Only the object of that uid and version, where given; another one is a `Conflict`."""
        url, subject = await self._one("delete", api_version, kind, name, namespace)
        options = delete_options(uid, version, propagation, grace_seconds)
        query = _options(None, dry_run)
        try:
            await self._exchange("DELETE", url, options, subject=subject, query=query)
        except NotFound:
            if not missing_ok:
                raise

    async def delete_collection(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        propagation: Propagation | None = None,
        dry_run: bool = False,
    ) -> None:
        """Everything that the selectors match; without any, everything of that kind."""
        resource = await self.discovery.find(api_version, kind)
        namespace = self._namespace(resource, namespace)
        await self._exchange(
            "DELETE",
            resource.url(namespace, None),
            delete_options(None, None, propagation, None),
            subject=subject_of("delete", kind, namespace),
            query=selectors(labels=labels, fields=fields) | _options(None, dry_run),
        )

    async def _write(
        self,
        method: str,
        url: str,
        body: Any,
        *,
        subject: str,
        query: Mapping[str, str],
        content_type: str = JSON,
        may_repeat: bool = False,
    ) -> Object:
        answer = await self._exchange(
            method,
            url,
            body,
            subject=subject,
            query=query,
            content_type=content_type,
            may_repeat=may_repeat,
        )
        return decoded(answer)


def delete_options(
    uid: str | None, version: str | None, propagation: Propagation | None, grace: int | None
) -> Object | None:
    """The body of a DELETE; without any wish there is none, and the kind's own defaults hold."""
    preconditions = _given({"uid": uid, "resourceVersion": version})
    wishes = _given(
        {
            "preconditions": preconditions or None,
            "propagationPolicy": propagation,
            "gracePeriodSeconds": grace,
        }
    )
    return {"apiVersion": "v1", "kind": "DeleteOptions"} | wishes if wishes else None


def _given(values: Object) -> Object:
    return {name: value for name, value in values.items() if value is not None}


def _options(
    manager: str | None, dry_run: bool, field_validation: FieldValidation | None = None
) -> dict[str, str]:
    named = {
        "fieldManager": manager,
        "dryRun": "All" if dry_run else None,
        "fieldValidation": field_validation,
    }
    return {name: value for name, value in named.items() if value}
