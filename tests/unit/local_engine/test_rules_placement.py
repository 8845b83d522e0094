from __future__ import annotations

from azbatch_core.local.rules.placement import FreeSlots


def slots(**free: int) -> FreeSlots:
    made = FreeSlots()
    for name, number in free.items():
        made.put(int(name[1:]), number)
    return made


def test_spreading_takes_the_emptiest_and_packing_the_fullest_that_will_do() -> None:
    free = slots(n1=1, n2=3, n3=4)
    assert free.find(2, pack=False) == 3
    assert free.find(2, pack=True) == 2
    assert free.find(5, pack=True) is None


def test_taking_and_giving_back() -> None:
    free = slots(n1=4)
    free.take(1, 3)
    assert free.find(2, pack=True) is None
    assert free.largest == 1
    free.take(1, -3)
    assert free.find(4, pack=True) == 1


def test_unusable_nodes_are_not_found_and_cannot_be_given_slots() -> None:
    free = slots(n1=4)
    free.drop(1)
    free.drop(1)
    free.take(1, -4)
    assert (len(free), free.largest, 1 in free) == (0, 0, False)
    assert free.find(1, pack=True) is None


def test_barred_nodes_are_passed_over() -> None:
    free = slots(n1=4, n2=2)
    assert free.find(1, pack=False, barred={1}) == 2
    assert free.find(1, pack=False, barred={1, 2}) is None


def test_a_preferred_node_wins_if_it_will_do() -> None:
    free = slots(n1=4, n2=1)
    assert free.find(1, pack=False, preferred=2) == 2
    assert free.find(2, pack=False, preferred=2) == 1
    assert free.find(1, pack=False, preferred=2, barred={2}) == 1
    assert free.find(1, pack=False, preferred=77) == 1


def test_among_equals_the_one_that_waited_longest_is_taken() -> None:
    free = slots(n1=1, n2=1)
    free.take(1, 1)
    free.take(1, -1)
    assert free.find(1, pack=True) == 2
