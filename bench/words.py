"""What docs/performance.md says around its figures."""

INTRODUCTION = """# What it costs

`make bench` measures this on your machine, side by side in one run: what is compared takes turns, and a ratio is the
median of the rounds' own ratios, with its quartiles in brackets. It writes this page, the pictures and
[the figures](performance/figures.json), and fails when a figure is beyond its limit. It takes half an hour;
`make bench ARGS=capacity` measures one part anew, `make bench ARGS=--help` names them. Times are those of an
emulator on a shared machine: only the ratios mean something elsewhere.

Measured on:
"""

ADDING = """## Adding

One `add` that is not the new head, on the embedded AWS. Beside it: a bare `put_item` and `get_item` of the same items
through a client with the same settings (the floor); what the published proofs of concept do, scan, compare, put, written
from their description; and `create_schedule` of EventBridge Scheduler, which is one call, whose time in an emulator says
nothing of AWS's. {limit} times the floor is the limit, and growing with the queue {growth_limit} times as much as the
floor does. The floor's put has no condition; ours refuses an id that is taken.

![Milliseconds for one add at queues of several lengths](performance/adding.svg)
"""

MANY = """## Adding many

`add_many` of {tasks} tasks takes {ours} ms for each, a loop of bare `put_item` {bare} ms: it is {gain} times as fast.
{limit} is the limit. On a machine with more to do, whoever uses more threads gets more of it, so measure this on a quiet one.
"""

DRAINING = """## Draining

A run over what is due, on the embedded AWS, without its Lambda. The floor is what one would write by hand: a query of
each lane, and on as many threads (16) two conditional updates for each task, of which the first brings it. {floor_limit}
of its rate is the limit at 10,000. Ours claims as many tasks with one call as there are free places, and writes several
outcomes with one: half the processor time, which is what there is least of in a small Lambda.

The article's worker scans, acts, deletes, one task after the other; it claims nothing, keeps no history, and does what is
due twice when two of it run. Where a call takes no time and an action none, that is less work. An action that waits
{action} ms, as a call elsewhere does, shows what threads are for: {article_limit} times the article's rate is the limit
there.

![Tasks a second](performance/draining.svg)
"""

DELIVERING = """## Delivering

{tasks} due tasks whose action is a delivery to a queue of SQS, on the embedded AWS: {rate} a second, claims and outcomes
included, in {calls} calls of `SendMessageBatch`. That is {gain} times the rate of an action that sends each with
`SendMessage`, one task after the other, and {limit} is the limit; and {over_threads} times that of the same action on 16
threads.
"""

LOOKING = """## Looking

What it costs to look at a queue in which {tasks} tasks wait, over ten days, as many have ended, one in a hundred of
them failed, and a hundred recur: counted on the embedded AWS with four lanes. {limit} calls are the limit for each look, however much is stored. More
lanes take a query more each, side by side, but for the timeline, which counts one lane for all where there are many tasks.
Before there was an index of the past, the list of failed tasks took 32 calls on this queue and read all 200,000 items, and the
timeline took 52; nothing said how many tasks had failed but the doctor, who read all of history too.

"""

CALLS = """## Calls and capacity

What each step of a task's life costs in calls and in DynamoDB's request units: exact, held by
[tests](../tests/bench/test_capacity.py), whatever the length of the queue. Items are below 1 KB here, payload included;
each further KB adds a write unit to each write of the item. Units are worked out from the items before and after each
call by DynamoDB's published rules for
[sizes](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html),
[requests](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html) and
[local indexes](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html), because emulators do not count
them right. An `add` is one write and one read; the second write unit is the index's.

What a task takes over its life, in write units, by what is kept of it ([tests](../tests/bench/test_life.py) hold it exactly):

| `DUEBELL_HISTORY` | add | claim | done | in all |
|---|---|---|---|---|
| `all` | 2 | 1 | 3 | 6 |
| `failed` | 2 | 1 | 2 | 5 |
| `none`: the item is deleted | 2 | 1 | 2 | 5 |
| an occurrence of a recurring task, whose add takes 3 | | 1 | 3 | 4 |

A run's own part is what it costs to be woken, to hold the lanes, and to set the rule twice: to its watchdog, and to what
comes next. It is the same for one task and for ten thousand, but for a query more for every 200 tasks of a lane.
"""

COSTS = """## Dollars

Computed from the units above and the price lists below, for us-east-1, without free tiers. Not in it: what your actions
cost, storage ($0.25 for a GB and month beyond 25 GB, by an older copy of AWS's list), backups, and what is paid by the month
whatever runs, which stands in the next section. Ringing the rule is free; we found no page of AWS that says so in as many
words. Assumed, not measured: a run is billed for a second besides its tasks and for 10 ms for each, at 512 MB; an invocation
for a single task, 5 ms; and Lambda's own lines in the log are 300 bytes for each invocation.

**Where duebell costs more:** per task it is dearer than EventBridge Scheduler, which is free for 14 million a month besides.
What it gives for that is a queue that can be listed, searched and changed, in one place, and tasks of one moment run
together. It is cheaper than a state machine that waits. When tasks come due alone, the run is what costs; but there are at
most 43,200 minutes to ring in a month, half a dollar's worth.

A recurring task keeps its last twenty occurrences in 600 bytes at most, so that its item stays below 1 KB.

![Dollars for a million](performance/costs.svg)
"""

STANDING = """### Standing still, a month

While nothing is due, nothing runs: no request, no run, no line of log and no metric is paid for. CloudWatch counts a metric by
the hours in which it is written. Where there are alarms and a dashboard, these two are paid for all the same:

| {alarms} alarms | the dashboard | in all, a month |
|---|---|---|
| ${alarms_dollars:.2f} | ${dashboard:.2f} | ${dollars:.2f} |

Ten alarms and three dashboards are [free in each account](https://aws.amazon.com/cloudwatch/pricing/), so the first scheduler of
an account pays nothing for them. They are made only where somebody is to be told (`--alarm-mail`, `--alarm-topic`) or with
`--parameter Alarms=yes`. What is stored is paid for by its size: the table beyond 25 GB, its backups, the log, and a bundle of about
a megabyte for each version of the worker.
"""

WATCHING = """### Watching, a month

What the templates make in CloudWatch where somebody is to be told, in a month in which tasks run in every hour: {fixed} metrics of
the scheduler and {each} more for each action, since each name with each value of its dimensions is one that is charged for; the
alarms; the dashboard. `--parameter Metrics=on` alone writes the metrics without alarms and dashboard. The alarms on lateness, failed
tasks and dead runs need the metrics. A run writes {run} bytes of
log besides its tasks, metrics included, and {task} for each of them; that is in the table above.
"""

WAITING = """### Waiting to the second, a month

With precision "second" a run waits for what it rings ahead of, 70 s on average when tasks come due alone. While it waits it
reads the arming record four times a second, and holds its lanes. A burst may be shared by several runs; afterwards all but
one give their lanes to it. Simulated with the real code: a burst that four runs share, then a task every {every} s: in the second
and third hour {runs} runs wait at a time. Logs and AWS Config are extra.
"""

CONFIG = """### AWS Config

Where AWS Config records all types of resources continuously, as its default is, each change of the rule is a configuration
item that is paid for, and each of Config's rules that looks at EventBridge rules is evaluated for it ($0.001). A run changes the
rule twice; one that works or waits for long, once a minute, to keep its watchdog. That can be the dearest part of all. The ways
out: [exclude](https://docs.aws.amazon.com/config/latest/developerguide/select-resources-excluding.html) `AWS::Events::Rule` from the
recorder, or have that type recorded daily, for ${daily} a month at most: [how](operations.md#aws-config).
"""

SIMULATED = """## Lateness

How many seconds after its due date a task starts. First a simulation of a million tasks: the minute that the rule is set
to is chosen by duebell's own code, and EventBridge rings within that minute, [as measured](https://www.trek10.com/blog/lambdaclock)
(4,700 rings in 2016: 25 s after the full minute on average, rarely beyond 60 s; taken as evenly spread from 0 to 50 s), or
anywhere in it, as its documentation has it. What is simplified: nothing fails, tasks are added long before they are due,
the Lambda starts in 0.3 s, and a run takes one second. A changed rule is assumed to take effect within half a minute:
EventBridge gives no figure.

A task that is due on a whole minute waits for the ring alone. One that is due at some second waits for the next whole minute
first; and one that comes due right after a run waits until the rule rings again. That is mostly in the next minute, and
in the one after it at the latest.

To the second, the run is there before and waits. What is left is what a successor takes to start when a run's time is over, and
tasks that come due while the rule cannot ring yet.

![Seconds after the due date](performance/lateness.svg)
"""

LATENESS = """And in real time: tasks at random seconds of ten minutes, on the embedded stack, run by the Lambda that the rule
woke (`make bench ARGS=lateness`, a quarter of an hour). Its rule rings within some seconds of the minute.
"""

CLIENT = """## The adding process

Against a server that answers at once, an `add` takes {ours} ms of the calling process's own processor time, a bare
`put_item` and `get_item` {bare} ms: {ratio} times as much (rounds of {each}). The difference is checking, encoding,
pynamodb's expressions, and the arming record read and understood.
"""

MEMORY = """## Memory and size

A fresh process that drains {tasks} due tasks has {draining} MB in memory at most, and one that finds none {empty} MB. The
tasks make it {growth} MB; {limit} are the limit.
"""

COLD_START = """## Cold start

Importing the Lambda entry and making its clients takes {ours} ms of processor time, bare boto3 with the same two clients
{bare} ms; whole processes, in turns. That is {ratio} times as long; {limit} is the limit.
"""

SCHEDULES = """## Schedules

To read an expression and find its next time, and to find the next once it was read: a process reads each once. Medians of
15 rounds of 100, in processor time; {limit} µs is the limit for both together.
"""

FASTER = """## What made it faster, and what did not

Measured on 21 November 2026, while it was built, on the machine named above; `make bench` does not measure these again. The
processor times of a pair were measured minutes apart, the rates in their own runs beside the floor, not beside each other.

| | before | after |
|---|---|---|
| `add_many` in calls of 25: times as fast as a loop of bare `put_item` | 1.1 | 5.6 to 14.4 in five runs |
| claims and outcomes built here, not by pynamodb: their processor time, in that of two bare updates | 1.45 | 0.87 |
| claims and outcomes of several tasks in one call: processor time of a run, for each task | 2.9 ms | 1.2 ms |
| the same: a run's rate, in that of the floor above, at 3,000 tasks | 0.95 | 1.03 to 1.23 |
| keys of the queue read without pynamodb, for each: not kept, since it is a fiftieth of what a task takes | 57 µs | 36 µs |
"""
