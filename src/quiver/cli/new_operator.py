"""`quiver new-operator`: a repository for an operator of your own."""

import argparse
from pathlib import Path

from quiver.cli.dev import Groups


def add_to(groups: "Groups[argparse.ArgumentParser]") -> None:
    command = groups.add_parser(
        "new-operator",
        help="make a repository for an operator of your own",
        description="Makes a repository with an operator that works, its tests and its chart.",
    )
    command.add_argument("name", metavar="NAME", help="such as site-operator")
    command.add_argument(
        "--kind", default="", metavar="KIND", help="default: from the name, such as Site"
    )
    command.add_argument(
        "--group", default="example.com", metavar="GROUP",
        help="a DNS name that you own (default: example.com)",
    )  # fmt: skip
    command.add_argument(
        "--into", type=Path, metavar="FOLDER", help="default: a new one, called NAME"
    )
    command.set_defaults(run=_new_operator, refuse=command.error)


def _new_operator(arguments: argparse.Namespace) -> int:
    from quiver import scaffold

    try:
        names = scaffold.names_for(arguments.name, kind=arguments.kind, group=arguments.group)
        folder = arguments.into or Path(names.operator)
        scaffold.write(scaffold.rendered(scaffold.templates(), names), folder)
    except (scaffold.CannotScaffold, OSError) as error:
        arguments.refuse(str(error))
    scaffold.generate_chart(folder, names)
    print(f"{names.operator} is in {folder}: read its README.md, and run `make test` there")
    return 0
