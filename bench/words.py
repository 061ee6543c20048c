"""The text of docs/performance.md around its figures."""

INTRODUCTION = """# What it costs

`make bench` measures this on your machine and writes this page, the pictures and [the figures](performance/figures.json). Compared
programs take turns in one run. A ratio is the median of the rounds' ratios, with its quartiles in brackets. The command fails if a
figure is beyond its limit.

It takes half an hour. `make bench ARGS=capacity` measures one part, and `make bench ARGS=--help` lists the parts. Times are those of an
emulator on a shared machine: only the ratios mean something elsewhere.

Measured on:
"""

ADDING = """## Adding

One `add` that is not the new earliest task, on the embedded AWS. The table compares it with three others:

- the floor: a bare `put_item` and `get_item` of the same items through a client with the same settings. Its put has no condition; ours
  refuses an id that is taken
- what the published proofs of concept do: scan, compare, put. It is written from their description
- `create_schedule` of EventBridge Scheduler, which is one call. Its time in an emulator says nothing of AWS's

The limit is {limit} times the floor. As the queue grows, an add may grow {growth_limit} times as much as the floor.

![Milliseconds for one add at queues of several lengths](performance/adding.svg)
"""

MANY = """## Adding many

`add_many` of {tasks} tasks takes {ours} ms for each, a loop of bare `put_item` {bare} ms: it is {gain} times as fast.
{limit} is the limit. On a busy machine, the program with more threads gets more processor time, so measure this on a quiet one.
"""

DRAINING = """## Draining

A run over what is due, on the embedded AWS, without its Lambda. The floor is what one would write by hand: a query of each lane, and
two conditional updates for each task, on as many threads (16). The limit is {floor_limit} of its rate at 10,000 tasks. A run of
duebell claims many tasks with one call and writes many outcomes with one, which takes less processor time.

The article's worker scans, acts and deletes, one task after the other. It claims nothing and keeps no history. Two of them do each task
twice. That is less work if calls and actions take no time. An action that waits {action} ms shows the use of threads: the limit
there is {article_limit} times the article's rate.

![Tasks a second](performance/draining.svg)
"""

LIMITED = """## Limits

A run over {tasks} due tasks of one action that does nothing, on the embedded AWS, on 16 threads. It has no limits; or another action of
the worker has [limits](limits.md); or it has limits of its own that are never reached. An action without limits takes no further calls
or writes, whatever others have; but the number of calls varies, because outcomes share calls. Its processor time may be {limit} times as
much, which is noise of the machine. For an action with limits, tasks that are claimed together take their starts by one write.
"""

DELIVERING = """## Delivering

{tasks:,} due tasks are delivered to a queue of SQS. Calls to DynamoDB and SQS take {call_ms:.0f} ms, and no processor of this machine except
the worker's.

| on | tasks a second | times one after the other | times 16 threads |
|---|---|---|---|
| services with {call_ms:.0f} ms a call | {remote_rate:,.0f} | {remote.gain} | {remote.over_threads} |
| the embedded AWS | {emulated_rate:,.0f} | {emulated.gain} | {emulated.over_threads} |

Claims and outcomes are included. The first line took {remote_calls:,.0f} calls of `SendMessageBatch`; {limit:.0f} times one after the other is
its limit. The other two columns compare with an action that sends each task by `SendMessage`. On the embedded AWS a call takes no time
to travel, and the emulator's processor is the bottleneck.
"""

LOOKING = """## Looking

This is the number of calls of a look into a queue in which {tasks} tasks wait, over ten days. As many have ended, one in a hundred of them failed, and a
hundred recur. It was counted on the embedded AWS with four lanes. The limit is {limit} calls for each look, however much is stored.

Each further lane takes one query more, made at the same time as the others. Where a lane has more tasks than one answer holds, the timeline
counts the rest of one lane for all.

"""

CALLS = """## Calls and capacity

This is the cost of each step of a task's life in calls and in DynamoDB's request units: exact, held by
[tests](../tests/bench/test_capacity.py), whatever the length of the queue. Items are below 1 KB here, payload included;
each further KB adds a write unit to each write of the item. Units are worked out from the items before and after each
call by DynamoDB's published rules for
[sizes](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html),
[requests](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html) and
[local indexes](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html), because emulators do not count
them right. An `add` is one write and one read; the second write unit is the index's.

A task takes these write units over its life ([tests](../tests/bench/test_life.py) hold it exactly):

| `DUEBELL_HISTORY` | add | claim | done | in all |
|---|---|---|---|---|
| `all` | 2 | 1 | 3 | 6 |
| `failed` | 2 | 1 | 2 | 5 |
| `none`: the item is deleted | 2 | 1 | 2 | 5 |
| an occurrence of a recurring task, whose add takes 3 | | 1 | 3 | 4 |

A run's own part is what it costs to be woken, to hold the lanes, and to set the rule for the next task. It is nearly the same for one
task and for ten thousand. A lane takes one more query for every 200 tasks. The watchdog takes a write and a PutRule in the last four
minutes of an hour, or if the run works for longer than three minutes.
"""

COSTS = """## Dollars

Computed from the units above and the price lists below, for us-east-1, without free tiers; `duebell cost` computes a month of
yours by the same code. Not included are your actions, storage ($0.25 for a GB and month beyond 25 GB, by an older copy of AWS's list),
backups, and what is paid by the month whatever runs: [see below](#standing-still-a-month). The log is that of a worker with metrics.

| assumption | value |
|---|---|
| a ring of the rule | free; we found no page of AWS that says so in these words |
| Lambda's time | computed, not measured on AWS: processor time, scaled to the function's share of a processor, and waits |
| processor time | as measured here: {one} ms for a cold start with a run of one task, {task} ms for each further task, 15 ms for the certificates of each service |
| a whole processor | [at 1,769 MB](https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html) |
| a wait | 5 ms for each call |
| a run of one task at {memory} MB | {seconds:.2f} s, as the result |
| a cold start | each run that comes more than five minutes after the one before |
| Lambda's own lines in the log | 300 bytes for each invocation |

EventBridge Scheduler stands beside it twice, with a Lambda that starts as quickly and is invoked once for each task. *With a table* adds
a put and a delete of each task that runs once, for users who list and search tasks. Of tasks that are due together, the first starts a
process. Its free 14 million invocations a month are not deducted. The steps of Step Functions for a task that waits and then acts are
${steps:.0f} a million alone.
"""

MEMORIES = """
**duebell costs more in each row**, most of all for tasks that come due alone, because each takes a run of its own, and for tasks to the
second.

Tasks of one moment are run together, which makes them cheaper here. At random seconds, a run in six comes more than five minutes after
the one before. A month has at most 43,200 minutes to ring in. To the second, a run
waits for its task: 70 s on average if it is alone. With [a schedule](how-to/schedule-bell.md) instead of the rule, each ring is an
invocation of EventBridge Scheduler: $1 a million, after 14 million a month.

![Dollars for a million](performance/costs.svg)

### Memory

The cost of a cold start with a run of one task depends on the worker's memory (`--memory`). Without the request, computed as above:
"""

SNAPSTART = """
512 MB is the default. Half as much would save {half_saves:.0f} %, start each run {half_later:.1f} s later, and give actions half the processor.

### SnapStart

[SnapStart](how-to/snapstart.md) is off by default, because it costs more than the start that it saves.

| at {memory} MB | |
|---|---|
| restoring, for a million starts | ${restore:.2f} |
| a whole start without it, with its run, for a million | ${start:.2f} |
| the snapshot, for each version that is kept | ${snapshot:.2f} a month |
| processor time that it saves, of the [cold start](#cold-start) | {saved:.2f} s |

The time of restoring is not measured, and AWS gives no figure. AWS says that [functions that are invoked infrequently might not experience the same
improvements](https://docs.aws.amazon.com/lambda/latest/dg/snapstart.html), and a worker whose tasks come due alone is one.
"""

STANDING = """### Standing still, a month

While nothing is due, nothing runs, and you pay for no request, run, log line or metric. CloudWatch counts a metric by the hours in which
it is written. An empty dead-letter queue costs nothing. You pay for these all the same, where they exist:

| what | a month | made by |
|---|---|---|
| {alarms} alarms | ${alarms_dollars:.2f} | `--alarm-mail`, `--alarm-topic`, or `--parameter Alarms=yes` |
| the dashboard | ${dashboard:.2f} | the same |
| both | ${dollars:.2f} | |
| one alarm more, for the intake | ${intake_alarm:.2f} | the same, with `--intake` |
| polling of the intake queue by Lambda | ${polling:.2f} | `--intake` |
| the snapshot of a version, with {memory} MB | ${snapshot:.2f} | `--snap-start` |
| a look at the queue each second, and a machine | ${looking:.2f}, and the machine | [`duebell worker`](how-to/containers.md) outside Lambda |
| the least provisioned capacity | ${least:.2f} | `--capacity provisioned` |
| metrics | $0.00 | `--parameter Metrics=on`: no run writes any |
| AWS Config | $0.00, or ${daily:.2f} if it records daily | [the account](#aws-config): the rule does not change |

`duebell cost` does not count these. Ten alarms and three dashboards are
[free in each account](https://aws.amazon.com/cloudwatch/pricing/), and a million requests to SQS.
Storage is paid for by its size: the table beyond 25 GB, its backups, the log, and the [bundle](bundle.md) of each
version of the worker.
"""

WATCHING = """### Watching, a month

With alarms, the templates make these things in CloudWatch. They are billed for each month in which tasks run in every hour: {fixed} metrics of the scheduler and {each} more
for each action, the alarms and the dashboard. CloudWatch charges for each name with each value of its dimensions. `--parameter Metrics=on` alone writes the metrics without alarms and dashboard. The alarms on lateness, failed
tasks and dead runs need the metrics. A run writes {run} bytes of
log besides its tasks, metrics included, and {task} for each of them; that is in the table above.
"""

WAITING = """### Waiting to the second, a month

With precision "second" a run starts early and waits, 70 s on average when tasks come due alone. Meanwhile it reads the arming record four
times a second. After a burst that several runs shared, one run waits. This is simulated with the real code: a burst that four runs
share, then a task every {every} s. In the second and third hour, {runs} runs wait at a time. Logs and AWS Config are extra.
"""

CONFIG = """### AWS Config

By default, AWS Config records all types of resources continuously. Then each change of the rule is a configuration item, which costs
money. Each rule of AWS Config that checks EventBridge rules is evaluated for each item ($0.001). A run changes the rule once. A run that
works or waits for long changes it once a minute. This can be the largest cost of all. To avoid it: [exclude](https://docs.aws.amazon.com/config/latest/developerguide/select-resources-excluding.html) `AWS::Events::Rule` from the
recorder, or have that type recorded daily, for ${daily:.2f} a month at most: [how](how-to/aws-config.md).
"""

SIMULATED = """## Lateness

Lateness is the time from the due date of a task to its start, in seconds. The first table simulates a million tasks. duebell's own code chooses the minute of the
rule. EventBridge rings within that minute by one of two assumptions:

- *as measured*: evenly spread from 0 to 50 s. This is from [4,700 rings in 2016](https://www.trek10.com/blog/lambdaclock), 25 s after the
  full minute on average and rarely beyond 60 s
- *anywhere*: evenly spread over the minute, as its documentation says

The simulation is simplified. Nothing fails, tasks are added long before they are due, the Lambda starts in 0.3 s, and a run takes one
second. A changed rule takes effect within half a minute; EventBridge gives no figure for this.

| a task that is due | waits for |
|---|---|
| on a whole minute | the ring |
| at another second | the next whole minute, then the ring |
| right after a run | the next ring, mostly in the next minute, at the latest in the one after |
| to the second | nothing: the run is there before. Exceptions are the start of a successor, and tasks that come due before the rule can ring |

![Seconds after the due date](performance/lateness.svg)
"""

LATENESS = """The second table is measured in real time: tasks at random seconds of ten minutes, on the embedded stack, run by the Lambda that the rule
woke (`make bench ARGS=lateness`, a quarter of an hour). Its rule rings within some seconds of the minute.
"""

CLIENT = """## The adding process

Against a server that answers at once, an `add` takes {ours} ms of the calling process's processor time. A bare `put_item` and `get_item`
take {bare} ms. That is {ratio} times as much (rounds of {each}); {limit} is the limit. The difference is checking, encoding, and reading
the arming record.
"""

MEMORY = """## Memory and size

A fresh process that drains {tasks} due tasks has {draining} MB in memory at most, and one that finds none {empty} MB. The
tasks make it {growth} MB; {limit} are the limit. Its processor takes {task_ms} ms for each of them, whose action does nothing
and whose DynamoDB answers at once; {limit_ms} are the limit.
"""

PRIORITIES = """## Priorities

A burst of {tasks} tasks came due, one each millisecond, and a worker starts one after the other. The table shows after which part of the
burst tasks were started, by the number of keys that the run reads ahead. In order of time, the median of each is 50 %. Either a tenth of
the tasks has each priority, or one in a hundred has 9 and the others 0. [A run](priorities.md) reads 100,000 keys ahead once one of
them has a priority, and 1,000 until then.

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

COMMAND_LINE = """## Command line

`duebell list` takes {list} ms of processor time for an empty queue, and `duebell --help` {help} ms. Importing boto3 and making its
client for DynamoDB takes {boto3} ms: `duebell list` takes {ratio} times as long; {limit} is the limit.
"""

SCHEDULES = """## Schedules

This is the time to read an expression and find its next time, and the time to find one more; a process reads each expression once. Medians of
15 rounds of 100, in processor time; {limit} µs is the limit for both together.
"""
