"""``python -m tempi.measure``."""

from tempi.measure.command import main

if __name__ == "__main__":
    main(prog_name="python -m tempi.measure")
