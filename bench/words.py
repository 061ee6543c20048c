"""The text of docs/performance.md around its figures."""

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

LIMITED = """## Limits

A run over {tasks} due tasks of one action that does nothing, on the embedded AWS, on 16 threads: with no limits, while another
action of the worker has [limits](limits.md), and with limits of its own that are never reached. An action without limits takes no
call more and no write more, whatever others have; {limit} times the processor time is the limit for it, and what is above 1 is the
machine's. For one that has limits, tasks that are claimed together take their starts by one write.
"""

DELIVERING = """## Delivering

{tasks:,} due tasks whose action is a delivery to a queue of SQS, with a DynamoDB and an SQS whose calls take {call_ms:.0f} ms and no processor
of this machine's but for the worker's: {remote_rate:,.0f} a second, claims and outcomes included, in {remote_calls:,.0f} calls of `SendMessageBatch`.
That is {remote.gain} times the rate of an action that sends each with `SendMessage`, one task after the other, and {limit:.0f} is the
limit; and {remote.over_threads} times that of the same action on 16 threads.

On the embedded AWS it is {emulated_rate:,.0f} a second, {emulated.gain} times one after the other, and {emulated.over_threads} times 16 threads. There a call
takes no time to travel, and the emulator's processor is the bottleneck: most of its time goes into parsing the statements of a batch.
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

A run's own part is what it costs to be woken, to hold the lanes, and to set the rule to what comes
next. It is the same for one task and for ten thousand, but for a query more for every 200 tasks of a lane, and a write and a
PutRule for its watchdog in the last four minutes of an hour, or where it works for longer than three minutes.
"""

COSTS = """## Dollars

Computed from the units above and the price lists below, for us-east-1, without free tiers; `duebell cost` computes a month of
yours by the same code. Not in it: what your actions cost, storage ($0.25 for a GB and month beyond 25 GB, by an older copy of AWS's
list), backups, and what is paid by the month whatever runs, which stands in the next sections. Ringing the rule is free; we found no
page of AWS that says so in as many words. The log is that of a worker with metrics.

What Lambda bills is computed, not measured on AWS: the processor time measured here, of a cold start with a run of one task ({one} ms)
and of each further task ({task} ms), and 15 ms for the certificates of each service; times what is missing to a whole processor, which
a function [has at 1,769 MB](https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html); and, assumed, 5 ms for each call
that the run waits for. At {memory} MB a run of one is {seconds:.2f} s. Assumed, too: with more than five minutes between two runs each
is a cold start, and Lambda's own lines in the log are 300 bytes for each invocation.

Beside it EventBridge Scheduler, with a Lambda that starts as quickly, once for each task, and the table that its users need to list
and search what is to come: a put and a delete of a task that runs once. Its free 14 million invocations a month are not taken off.
Step Functions' steps of a task that waits and then acts are ${steps:.0f} a million alone.
"""

MEMORIES = """
**Where duebell costs more:** tasks that come due alone, for each takes a run of its own; recurring tasks that come due alone, most
of all; and to the second, unless many are due together. EventBridge Scheduler gives 14 million invocations a month for nothing
besides. Tasks of one moment are run together: that is what makes them cheap here. There are 43,200
minutes to ring in a month at most. A recurring task keeps its last twenty occurrences in 600 bytes at most, so that its item
stays below 1 KB. To the second, a run waits for its task, 70 s on average when it is alone; for a task a minute one run waits on.
Ringing the rule costs nothing. Where [a schedule](how-to/schedule-bell.md) is the bell, since AWS calls scheduled
rules legacy, each ring is an invocation of EventBridge Scheduler: $1 a million, after 14 million a month.

![Dollars for a million](performance/costs.svg)

### Memory

What a cold start with a run of one task costs by the worker's memory (`--memory`), without the request, computed as above:
"""

SNAPSTART = """
512 MB is the default: half as much would save a fifteenth of that and start each run three quarters of a second later, and actions
would have half the processor.

### SnapStart

[SnapStart](how-to/snapstart.md) is off unless asked for, because it costs more than the start that it saves. At {memory} MB a million
starts from a snapshot cost ${restore:.2f} for the restoring alone, beside the ${start:.2f} above for the whole start with its run, and
the snapshot ${snapshot:.2f} a month for each version that is kept. `duebell cost --snap-start` computes a month of yours. What it
saves is the processor time of the [cold start](#cold-start), {saved:.2f} s at {memory} MB; restoring takes a time for which AWS gives
no figure, and which is not measured here. AWS says that [functions that are invoked infrequently might not experience the same
improvements](https://docs.aws.amazon.com/lambda/latest/dg/snapstart.html), and a worker whose tasks come due alone is one.
"""

STANDING = """### Standing still, a month

While nothing is due, nothing runs: no request, no run, no line of log and no metric is paid for. CloudWatch counts a metric by
the hours in which it is written. An empty dead-letter queue costs nothing. These are paid for all the same, where they exist:

| what | a month | made by |
|---|---|---|
| {alarms} alarms | ${alarms_dollars:.2f} | `--alarm-mail`, `--alarm-topic`, or `--parameter Alarms=yes` |
| the dashboard | ${dashboard:.2f} | the same |
| both | ${dollars:.2f} | |
| one alarm more, for the intake | $0.10 | the same, with `--intake` |
| polling of the intake queue by Lambda | ${polling:.2f} | `--intake` |
| the snapshot of a version, with {memory} MB | ${snapshot:.2f} | `--snap-start` |

`duebell cost --alarms` adds them up as "when idle". Ten alarms and three dashboards are
[free in each account](https://aws.amazon.com/cloudwatch/pricing/), and a million requests to SQS.
What is stored is paid for by its size: the table beyond 25 GB, its backups, the log, and a bundle of about a megabyte for each
version of the worker.
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
rule once; one that works or waits for long, once a minute, to keep its watchdog. That can be the dearest part of all. The ways
out: [exclude](https://docs.aws.amazon.com/config/latest/developerguide/select-resources-excluding.html) `AWS::Events::Rule` from the
recorder, or have that type recorded daily, for ${daily} a month at most: [how](how-to/aws-config.md).
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
`put_item` and `get_item` {bare} ms: {ratio} times as much (rounds of {each}); {limit} is the limit. The difference is checking,
encoding, and the arming record understood.
"""

MEMORY = """## Memory and size

A fresh process that drains {tasks} due tasks has {draining} MB in memory at most, and one that finds none {empty} MB. The
tasks make it {growth} MB; {limit} are the limit. Its processor takes {task_ms} ms for each of them, whose action does nothing
and whose DynamoDB answers at once; {limit_ms} are the limit.
"""

PRIORITIES = """## Priorities

A burst of {tasks} tasks that came due one each millisecond, and a worker that starts one after the other: after which part of the
burst tasks were started, by the number of keys that the run has in sight at most. In order of time, the median of each is 50 %. A tenth
of the tasks has each priority; or one in a hundred has 9, and the others 0. Tasks of one millisecond are in order whatever is in sight.
[A run](priorities.md) has 100,000 in sight once one of them has a priority, and 1,000 until then.

| of priority 9 | keys in sight | their median | their last | median of priority 0 | memory |
|---|---|---|---|---|---|"""

COLD_START = """## Cold start

As deployed: the bundle that `duebell bundle` builds, in a process that finds nothing else but the SDK, compiled as in Lambda's
runtime. Importing the Lambda entry and making its clients takes {ours} ms of processor time, bare boto3 with the same two
clients {bare} ms; whole processes, in turns. That is {ratio} times as long; {limit} is the limit. With the first invocation,
which finds one task due and has a server that answers at once, it is {one} ms: {over} times bare boto3's start. Encryption,
which the server does not have, comes on top of all three: reading the certificates takes 15 ms of processor time for each of the
two services, whoever calls them.
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
| records read, and items and conditions written, without pynamodb's objects; flat payloads and whole milliseconds checked without a walk or arithmetic: an add's processor time, in that of the bare calls | 1.28 | 1.16 |
| the same: an add's own steps, with the SDK's left out | 102 µs | 45 µs |
| keys of the queue read without pynamodb, for each | 57 µs | 36 µs |

A cold start, in bare boto3's, measured on 22 November 2026, each line with those above it:

| | times bare boto3's |
|---|---|
| the bundle as it was: Python compiles all of it at each start | 1.55 |
| compiled files in the bundle | 1.23 |
| clients made with botocore, without boto3; the services' descriptions read with msgspec, without a look into all folders; asyncio loaded by the first coroutine | 0.94 |
| no search for garbage while the clients are made | 0.83 |
| both clients made side by side in threads: not kept, as Python runs one thread at a time | 0.88 |
| zoneinfo and the reading of schedules loaded by the first schedule: not kept, 3 ms of 160 | 0.82 |

Deliveries to SQS, 5,000 tasks on the embedded AWS, measured on 22 November 2026 beside other work. A worker that has deliveries only
claimed as many tasks as it had places free, 16 at most, and recorded the outcomes of one message batch at a time. Now both are done 25
at a time:

| | before | after |
|---|---|---|
| calls of `BatchExecuteStatement` | 912 | 441 |
| calls of `SendMessageBatch` | 621 | 524 |
| processor time of the worker, for each task, ms | 0.78 | 0.60 |
| processor time of the embedded AWS, for each task, ms | 1.00 | 0.90 |
| one task after the other: the worker's and the embedded AWS's, which never work at the same time, ms | 8.5 | 7.4 |

What is left is the emulator's: it worked, or waited for a processor, during 94 % of the run, and most of its work is parsing the
statements of the batches, each twice. So deliveries in batches are at most 7.4 / 0.90, about 8, times as fast as one by one there, where the
worker and the embedded AWS each have a processor to themselves; and 7.4 / (0.60 + 0.90), about 5, times where they share one. (The last
line fell as well between the two measurements, by what else the machine did: compare within a column.) AWS's own servers take nothing of
the worker's processor.

What Lambda bills for a task that comes alone, before a run of one took three writes and one `PutRule` (b30be54) and after (e7e9fce), measured once on 22 November
2026:
the two built bundles, each unpacked beside nothing but the SDK as Lambda's runtime brings it, with nothing cached; a fresh process for each
start, which imports the entry and runs one due task; a local stand-in for AWS that answers each call after 5 ms; 25 rounds in turns, on a
machine that did other work besides. Medians, and the ratio of each round with its quartiles. The last line is computed from the two above
it: the processor time at 512 MB, where a process has 0.29 of a processor, and the waits. Encryption is in none of them.

| | before | after | after, in that of before |
|---|---|---|---|
| import and invocation, by the clock, ms | 1,787 | 990 | 0.54 (0.52 to 0.60) |
| their processor time, ms | 457 | 247 | 0.55 (0.52 to 0.56) |
| calls to AWS, and the time in which one was under way, ms | 25; 179 | 16; 107 | 0.63 (0.54 to 0.73) |
| billed at 512 MB, ms | 1,747 | 973 | 0.55 (0.53 to 0.57) |
"""
