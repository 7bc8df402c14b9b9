"""What is raised for an entry that no consumer could read."""


class Unreadable(Exception):
    """The entry at `position` (of the buffer it was looked for in), `size` bytes long, cannot be read: `reason`.

    Where the size itself is what is wrong, `size` reaches to the end of the buffer: nothing behind it can be found.
    """

    def __init__(self, position: int, size: int, reason: str) -> None:
        super().__init__(position, size, reason)
        self.position = position
        self.size = size
        self.reason = reason

    def __str__(self) -> str:
        return f"the entry at position {self.position} ({self.size} bytes): {self.reason}"
