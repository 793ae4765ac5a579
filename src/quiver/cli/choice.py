"""Options that several commands have."""

import argparse


def add_controllers(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--controllers", default="", metavar="A,B", help="only of these (default: all)"
    )
