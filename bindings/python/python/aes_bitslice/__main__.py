"""`python -m aes_bitslice`: the engines of this machine. `--opencl` adds OpenCL's, which loads their libraries."""

import argparse

from . import __version__, engines


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m aes_bitslice", description="Shows the engines of this machine.")
    parser.add_argument("--opencl", action="store_true", help="also OpenCL devices: loads the libraries of all platforms")
    arguments = parser.parse_args()
    print(f"aes-bitslice {__version__}")
    for engine in engines(opencl=arguments.opencl):
        mark = "+" if engine["available"] else "-"
        print(f"{mark} {engine['name']:<14} {engine['description']}")


if __name__ == "__main__":
    main()
