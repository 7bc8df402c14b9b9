"""The version of this package, as a constant: reading it from the installed metadata would cost 46 ms at start."""

VERSION = "0.1.0"
