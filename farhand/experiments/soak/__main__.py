"""``python -m farhand.experiments.soak``."""

from farhand.experiments.soak.command import main

raise SystemExit(main())
