"""``python -m farhand`` is ``farhand``."""

import sys

from farhand.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
