import os

from bench.processes import TICKS, parsed, tree, usage_of_tree

STAT = "12 (a) b) S 1 12 12 0 -1 4194560 500 0 0 0 {} {} {} {} 20 0 9 0 100 0 0"
STATUS = "Name:\ta) b\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n"


def test_cpu_is_that_of_the_process_and_of_the_children_it_waited_for() -> None:
    usage = parsed(STAT.format(TICKS, TICKS, TICKS, 2 * TICKS), STATUS)
    assert usage.cpu == 5.0
    assert (usage.memory, usage.peak) == (1024 * 1024, 2048 * 1024)


def test_a_process_that_only_waits_to_be_reaped_has_no_memory() -> None:
    assert parsed(STAT.format(0, 0, 0, 0), "Name:\tgone\n").memory == 0


def test_a_tree_has_all_descendants_and_nobody_else() -> None:
    assert sorted(tree(2, {1: 0, 2: 1, 3: 2, 4: 3, 5: 1})) == [2, 3, 4]


def test_this_process_uses_memory() -> None:
    usage = usage_of_tree(os.getpid())
    assert usage.peak >= usage.memory > 0
