"""Runs the command `obcut` as `python -m obcut`."""

import sys

from obcut import _core


def main() -> int:
    """Run the command with the arguments of the process."""
    return _core.main(["obcut", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
