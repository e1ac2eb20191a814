"""How a part of bench/run prints when it is run by itself: lines at once, and tables without layout."""


def say_line(line=''):
    print(line, flush=True)


def plain_table(head, rows):
    for row in [head] + rows:
        say_line(' | '.join(map(str, row)))
