"""`python3 -m kafkalet`: the command line."""

import sys

from kafkalet.cli import main

sys.exit(main())
