"""Documents are read from any tool and written in one way only."""

import pytest

from quiver.images import BadDocument, Descriptor, Manifest, RunConfig
from quiver.images.oci import MANIFEST, decode, describe, encode

EMPTY_DIGEST = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


def test_the_empty_document_has_the_digest_of_the_specification() -> None:
    assert describe(b"{}", "x") == Descriptor(media_type="x", digest=EMPTY_DIGEST, size=2)


def test_a_manifest_is_written_with_the_names_of_the_specification() -> None:
    blob = describe(b"{}", "a/b")
    manifest = Manifest(schema_version=2, media_type=MANIFEST, config=blob, layers=(blob,))
    about = f'{{"mediaType":"a/b","digest":"{EMPTY_DIGEST}","size":2}}'
    assert encode(manifest).decode() == (
        f'{{"schemaVersion":2,"mediaType":"{MANIFEST}","config":{about},"layers":[{about}]}}'
    )


def test_labels_in_another_order_give_the_same_bytes() -> None:
    one, other = RunConfig(labels={"a": "1", "b": "2"}), RunConfig(labels={"b": "2", "a": "1"})
    assert encode(one) == encode(other)


def test_unknown_fields_of_other_tools_are_no_obstacle() -> None:
    data = b'{"schemaVersion":2,"config":{"mediaType":"a","digest":"d","size":1},"layers":[],"x":1}'
    assert decode(data, Manifest, "it").config.digest == "d"


@pytest.mark.parametrize("data", [b"", b"[]", b"\xff", b'{"schemaVersion":2}'])
def test_other_bytes_are_refused_with_the_name_of_the_document(data: bytes) -> None:
    with pytest.raises(BadDocument, match="the thing is not a valid OCI manifest"):
        decode(data, Manifest, "the thing")
