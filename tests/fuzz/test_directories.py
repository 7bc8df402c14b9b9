"""A few damaged directories; run `python -m tests.fuzz.directories` for more."""

import random
import shutil
from pathlib import Path

from .directories import DAMAGES, Damage, build, damaged, run

CASES = 8


def test_brokers_tolerate_damaged_directories() -> None:
    tried = run(1, CASES)
    print(tried)
    assert tried.cases == CASES
    assert tried.served > 0


def test_every_kind_of_damage_is_recorded(tmp_path: Path) -> None:
    clean, killed = build(tmp_path)
    assert (clean / ".kafka_cleanshutdown").exists()
    assert not (killed / ".kafka_cleanshutdown").exists()
    for number, kind in enumerate(dict.fromkeys(DAMAGES)):
        root = tmp_path / str(number)
        shutil.copytree(clean, root)
        damage = Damage(root, random.Random(number))
        kind(damage)
        assert damage.done, kind


def test_damage_is_reproducible_by_seed(tmp_path: Path) -> None:
    clean, _ = build(tmp_path)
    done = []
    for _ in range(2):
        root = tmp_path / "case"
        shutil.copytree(clean, root)
        done.append(str(damaged(root, random.Random(7))))
        shutil.rmtree(root)
    assert done[0] == done[1]
