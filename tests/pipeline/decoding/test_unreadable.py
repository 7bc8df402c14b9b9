import pickle

from kafkalet.pipeline.decoding.unreadable import Unreadable


def test_it_says_where_and_why() -> None:
    assert str(Unreadable(7, 61, "bad")) == "the entry at position 7 (61 bytes): bad"


def test_it_travels_between_processes() -> None:
    copy = pickle.loads(pickle.dumps(Unreadable(7, 61, "bad")))
    assert (copy.position, copy.size, copy.reason) == (7, 61, "bad")
