"""``python -m farhand_lab.soak``."""

import sys

from farhand_lab.soak.command import main

if __name__ == "__main__":
    try:
        code = main()
    except KeyboardInterrupt:
        print("soak: interrupted; with --go-on it goes on where it was", file=sys.stderr)
        code = 130
    raise SystemExit(code)
