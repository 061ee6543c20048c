"""The text of docs/compare.md around its figures."""

SCENE_TITLES = {
    "seconds": "random seconds",
    "burst": "400 at once",
    "edits": "moved, cancelled",
    "recurring": "every hour",
    "failing": "failing actions",
    "crash": "executor dies",
    "redeploy": "deployed anew",
    "race": "added at once",
}

SCENES = {
    "seconds": "500 tasks at random seconds of a day, each added from ten minutes to six hours ahead",
    "burst": "400 tasks due at one whole minute",
    "edits": "60 tasks: 20 are moved two hours later, 20 an hour earlier, 20 are cancelled",
    "recurring": "three tasks, every hour for a day",
    "failing": "30 tasks, twenty minutes apart. The action of one always fails, that of three at first. The counts leave out the one",
    "crash": "20 tasks of one minute. The process that did the fifth is killed before it can record that. Then five more, an hour apart",
    "redeploy": "24 tasks, an hour apart, all added at the beginning. The design is deployed again halfway",
    "race": "60 times, services add six tasks within 40 ms of each other, and one more while five tasks are run",
}

INTRODUCTION = """# Which way to schedule on AWS

You want something done *later*: expire a trial in 14 days, publish at 09:00, remind every hour. AWS has no single answer, and articles
describe a dozen. For this page, each design was built as it was described, and got the same tasks. The page shows how late tasks start, which are
lost or done twice, and what each design costs. [duebell](../README.md) is one row among the others.

## Take …

| take | when | not when |
|---|---|---|
| **EventBridge Scheduler** | you want a managed service: one schedule for each task, moved and cancelled by name, for millions of tasks, within a minute | people ask what is due tonight or what failed (it lists by name, not by time, and a schedule is gone once it has run), or what is due together should be done together |
| **SQS with a delay** | tasks are due within 15 minutes, to the second, and are never moved or cancelled | tasks are due later: every task that waits costs four messages an hour |
| **Step Functions Wait** | the task is a step of an existing workflow, to the second, up to a year ahead | there are many tasks: {steps} a million, and a million may be open at once |
| **a rule at a fixed rate** | you have a table already, the tasks of a minute take less than that minute, and a minute is near enough | more is due at once than one invocation can do: the next one overlaps and repeats tasks |
| **an always-on poller** | a machine runs anyway, and seconds matter | nobody looks after a machine |
| **DynamoDB TTL** | a delay of hours or days does no harm, as for clean-ups | tasks have to start at a certain time |
| **S3 expiry** | the object itself expires, by the day | tasks have to start at a certain time of day |
| **Celery, ETA and beat** (not run here) | its workers run anyway and tasks are due within minutes | tasks are due in days: they wait in a worker's memory, and Celery [advises against that](https://docs.celeryq.dev/en/stable/userguide/calling.html#eta-and-countdown) |
| **EventBridge rules** | a few dozen recurring jobs that are part of the template | users add them: a bus has 300, and AWS calls scheduled rules legacy |
| **duebell** | people ask what is due, what failed and whether it can be moved; an action that fails must be tried again and not be forgotten; hundreds are due at one moment | one managed service is enough: Scheduler is cheaper, and nothing of it is yours to upgrade |
"""

DUEBELL_LOSES = """## Where duebell loses

- **It costs more**: {ours} for a million tasks that come due alone, because each ring is a run with its own reads and writes. EventBridge
  Scheduler costs {scheduler}, and {with_table} with a table. When many are due at a time, the costs are {ours_burst} beside {scheduler_burst} and
  {with_table_burst}. Scheduler's first 14 million a month are free.
- **Tasks go on late after its worker dies**: {crash} here. Lambda calls the others' function again after a minute. A dead run holds its
  lanes until its lease ends.
- **It repeats more tasks after its worker dies**: {twice} here. Designs that act one by one repeated one. A run has 16 actions under way
  at a time.
- **It starts to the minute unless you pay**: half within {half}, where SQS and Step Functions take a second. To the second it is as good,
  for [up to ${second:.0f} a month](performance.md#waiting-to-the-second-a-month), however many tasks there are, and more with AWS Config.
- **It is yours to run**: a table, a rule, a Lambda and a library to upgrade. EventBridge Scheduler is one call.
- **A lane takes 500 adds a second and 10 GB** ([scale](scale.md)). Scheduler takes 5,000 a second in the large regions.
"""

AT_A_GLANCE = """## At a glance

These figures are simulated, with the tasks below and AWS's published behaviour. Lateness is the time from the due date to the start, for tasks
at random seconds. Dollars are for a million tasks that come due alone, in us-east-1, without free tiers.

![Lateness of each design](compare/lateness.svg)

| | half start within | 99 % within | what went wrong | a million | idle, a month |
|---|---|---|---|---|---|"""

OUTCOMES = """
## What went wrong

The simulation gives the same tasks to each design.

| word | meaning |
|---|---|
| fine | Each task was done once, about as punctually as usual for this design |
| twice | A task was done more than once |
| late | A task was twice as late as usual, and two minutes at least |
| lost | The design took the task, and had not done it six hours after the last due date (three days with TTL and S3) |
| refused | The caller got an error |
| not offered | The design has no way to do it |

![What went wrong with each design in each scene](compare/outcomes.svg)

| scene | what happens in it |
|---|---|"""

FAULTS = """
### Why

- **Every design** repeated a task whose process died after acting, because the process had not recorded it. Actions must allow this.
- **The single rule, as published** in 2020, cuts off the seconds. The rule rings at 10:05:06 for a task that is due at 10:05:30. The task is
  not due yet, and its minute does not ring again. It stays the earliest, so no add sets the rule any more. The same happens when a task fails and the
  queue runs empty, and when a run parks the rule while somebody adds a task. A deployment sets the rule back to the template's.
  Its authors call it a proof of concept. It did all tasks that were due on whole minutes and did not fail.
- **Rules per task** end at 300 on a bus. If the caller sets the rule, PutRule refuses the 301st, and the caller knows it. If a table's
  stream sets the rule, the row is stored, the call succeeds, and nothing rings. Rules that nobody deletes count for ever.
- **The fixed rate** did {doubled} of 400 tasks twice: one invocation takes 80 s for them, the next begins after 60. A failing task is tried every
  minute for ever ({tried_rate} starts of one task here), as with the poller ({tried_poller}).
- **TTL and stream**: one failing item holds up its shard for 24 hours, with everything behind it, and every try repeats the
  tasks of the batch that succeeded. An executor that only invokes the function that the item names (*delegating*) holds up nothing; a failing
  task is then dropped after three starts.
- **S3 expiry** counts days from the next midnight, looks once a day and deletes in its own time. The event has only the key: without
  versions, the task's data is gone with the object.
- **SQS** has no way to find a message again: a moved task comes at its old time, and a cancelled task is done. A function that dies between
  sending a message on and ending leaves two of them.
- **Step Functions** finds an execution only in the list of all running ones, and a move starts another.
- **EventBridge Scheduler** lost nothing. Lambda calls a failing action twice more; then the task is gone unless there is a dead-letter queue.
- **duebell** lost nothing. [Above](#where-duebell-loses) are the points in which it is worse.
"""

EMULATED = """## On an emulator

The same designs, as code that calls AWS, ran beside each other on MiniStack, an emulator whose rules really ring and whose functions
really run. It was {on}. Each design had nineteen tasks: six at random seconds, eight at one minute, one moved later, one moved
earlier, one cancelled, one that fails at first, and one every minute.

This shows that the code works. An emulator's punctuality says nothing of AWS: it looks at rules and schedules every ten seconds.

| in this table | the reason |
|---|---|
| lost (emulator) | the emulator's fault, not the design's: it does not repeat a failed call of a rule, a schedule or a topic. Lambda does so on AWS |
| the single rule | fails with its first task at a random second, as in the simulation |
| no TTL, no S3 | the emulator's expiry of items reaches no stream, and its S3 expires nothing |
| no crash, no deployment | they are only in the simulation |

| on MiniStack | done | lost | twice | early | half start within | the latest | not offered |
|---|---|---|---|---|---|---|---|"""

COSTS = """
## What it costs

Dollars are for us-east-1, without free tiers, storage and the action itself. *Idle* is a month in which nothing is due. The first
column is 500 tasks a day, the second 400 at one minute. duebell and EventBridge Scheduler are computed by [`duebell
cost`](performance.md#dollars), as in its table. *With a table* adds a put and a delete of each task. The costs of the others come from the units
that the simulation counted, for functions with 512 MB, and 300 bytes of log for each invocation. To the second, duebell's worker waits all the time
when tasks come this often; that costs the same for ten times as many.

![Dollars for a million tasks](compare/costs.svg)

| | a million that come due alone | 400 at a time | idle, a month | calls for a task | what runs while nothing is due |
|---|---|---|---|---|---|"""

LIMITS = """
## Which limit comes first

| tasks that wait | a thousand | a million | a hundred million |
|---|---|---|---|"""

OFFERS = """
## What it offers

| | move a task | cancel it | recurring | list what is to come | when the action fails |
|---|---|---|---|---|---|"""

GIVEN = """
## What the simulation takes as given

Each design is [code](../alternatives) against boto3's clients. In the simulation these clients reach an account in frozen time, whose services
behave as AWS documents. The rest is assumed, as listed below. duebell runs by its own editor, worker and arming code, with its queue in memory.

| AWS | as simulated | who says so |
|---|---|---|"""

ASSUMED = """
Assumed:
"""

ASSUMED_OF_EACH = """
| design | assumed of it |
|---|---|"""

ASSUMED_OF = {
    "duebell": "a run acts on 16 tasks at a time",
    "duebell-second": "the same; the worker starts ahead of the due date and waits",
    "eventbridge-scheduler": "an invocation for each task, as many at a time as it takes; no flexible window",
    "step-functions": "an execution for each task, and an invocation at its end",
    "sqs-chained": "an invocation for each message; a task that is added three hours ahead is sent on twelve times",
    "fixed-rate": "an invocation a minute acts on all that is due, one after the other, and claims nothing",
    "poller": "one program acts on one task after the other and claims nothing; the machine never fails",
    "rule-per-task": "a rule, and an invocation, for each task; the stream's function makes the rule",
    "one-time-rules": "a rule, and an invocation, for each task; the function deletes the rule",
    "rules-left": "the same, without deleting",
    "single-rule": "a run acts on one task after the other; an add reads the whole table, which is short here",
    "ttl-stream": "items are deleted as measured in 2019",
    "ttl-stream-promised": "items are deleted as slowly as AWS says that it may be",
    "s3-expiry": "the bucket keeps versions, so that the function can read what to do",
}

PRICES = """
| price of | dollars | found at | of |
|---|---|---|---|"""

SOURCES = """
## Where the designs were described

| | described in |
|---|---|"""

AGAIN = """
## Run it yourself

`make compare` plays the simulation (about two minutes) and the emulator's run (six), and writes this page, its pictures and
[the results](compare/results.json). `make compare ARGS=simulated` does without the emulator and gives the same figures everywhere. A design is one
module in [`alternatives/`](../alternatives); none of them imports duebell, and duebell imports none of them.
"""
