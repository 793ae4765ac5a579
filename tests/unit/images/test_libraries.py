"""The libraries of a program are all found, and no others."""

import sys
from pathlib import Path

from quiver.images.libraries import loaded_in, shared_libraries

LISTING = """\
/usr/bin/python3.11:
\tlinux-vdso.so.1 (0x00007ffd)
\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f9fad93e000)
\tlibgone.so.1 => not found
\tlibodd.so => /opt/my libs/libodd.so (0x00007f9fad93e000)
\t/lib64/ld-linux-x86-64.so.2 (0x00007f9fae28b000)
/usr/bin/busybox:
\tnot a dynamic executable
"""


def test_the_output_of_ldd_is_read_line_by_line() -> None:
    assert {str(path) for path in loaded_in(LISTING)} == {
        "/lib/x86_64-linux-gnu/libm.so.6",
        "/opt/my libs/libodd.so",
        "/lib64/ld-linux-x86-64.so.2",
    }


def test_python_needs_the_c_library_and_its_loader() -> None:
    names = {path.name for path in shared_libraries([Path(sys.executable).resolve()])}
    assert "libc.so.6" in names
    assert any(name.startswith("ld-") for name in names)


def test_files_that_are_no_programs_need_nothing() -> None:
    assert shared_libraries([Path(__file__)]) == []
