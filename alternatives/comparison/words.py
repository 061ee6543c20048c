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
    "failing": "30 tasks, twenty minutes apart: the action of one fails always, of three at first; counted are the other 29",
    "crash": "20 tasks of one minute, and the process that did the fifth is killed before it can note that; then five more, an hour apart",
    "redeploy": "24 tasks, an hour apart, all added at first; halfway the design is deployed again",
    "race": "60 times, services add six tasks within 40 ms of each other, and one more while five tasks are run",
}

INTRODUCTION = """# Which way to schedule on AWS

You want something done *later*: expire a trial in 14 days, publish at 09:00, remind every hour. AWS has no one answer, and articles
describe a dozen. Here each of them is built, small and as it was described, and gets the same tasks. This page shows what came of it:
how late they start, what is lost or done twice, what it costs. [duebell](../README.md) is one row among the others: a queue in DynamoDB
whose one EventBridge rule always rings for the earliest task.

## Take …

| take | when | not when |
|---|---|---|
| **EventBridge Scheduler** | nothing speaks against it: a managed service, a schedule per task, moved and cancelled by name, millions of them, within a minute | people ask what is due tonight or what failed (it lists by name, not by time, and a schedule is gone once it has run), or what is due together should be done together |
| **SQS with a delay** | it is due within 15 minutes, to the second, and is never moved or cancelled | it is due later: every task that waits costs four messages an hour |
| **Step Functions Wait** | the task is a step of a workflow that is there anyway, to the second, up to a year ahead | there are many: {steps} a million, and a million may be open at once |
| **a rule at a fixed rate** | there is a table anyway, what is due in a minute is done within that minute, and a minute is near enough | more is due at once than one invocation gets done: the next one overlaps and does it again |
| **an always-on poller** | a machine runs anyway, and seconds matter | nobody looks after a machine |
| **DynamoDB TTL** | hours or days late are no harm: cleaning up, reminders of the kind "some time tomorrow" | there is a time at which it should happen |
| **S3 expiry** | what expires is the object itself, by the day | there is a time of day at which it should happen |
| **Celery, ETA and beat** (not run here) | its workers run anyway and tasks are due within minutes | tasks are due in days: they wait in a worker's memory, and Celery [advises against that](https://docs.celeryq.dev/en/stable/userguide/calling.html#eta-and-countdown) |
| **EventBridge rules** | a few dozen recurring jobs that are part of the template | users add them: a bus has 300, and AWS calls scheduled rules legacy |
| **duebell** | people ask what is due, what failed and whether it can be moved; an action that fails must be tried again and not be forgotten; hundreds are due at one moment | one managed service is enough: Scheduler is cheaper, and nothing of it is yours to upgrade |
"""

DUEBELL_LOSES = """## Where duebell loses

- **It costs more**: {ours} for a million tasks that come due alone, beside {scheduler} of EventBridge Scheduler, for every ring is a run with
  its own reads and writes; {ours_burst} beside {scheduler_burst} when many are due at a time. Scheduler's first 14 million a month are free besides. What
  the difference buys is the table: the list by time, the history, retries and their errors.
- **When its worker dies, what it did goes on late**: {crash} here, where Lambda calls the others' function again after a minute. A dead
  run holds its lanes until its lease ends, and the rule's next echo wakes the next run.
- **It does more of it twice then**: {twice} tasks here, where designs that act one by one did one. A run has 16 actions under way at a time.
- **To the minute unless you pay**: half within {half}, where SQS and Step Functions take a second. To the second it is as good as they are, for
  [up to $19 a month](performance.md#waiting-to-the-second-a-month), however many tasks there are: its worker waits all the time then.
- **It is yours to run**: a table, a rule, a Lambda and a library to upgrade. EventBridge Scheduler is one call.
- **A lane takes 500 adds a second and 10 GB** ([scale](scale.md)). Scheduler takes 5,000 a second in the large regions.
"""

AT_A_GLANCE = """## At a glance

Simulated: the workload below, with AWS's published manners. *Late* is from the due date to the start, at random seconds. Dollars are for
a million tasks that come due alone, in us-east-1, without free tiers.

![Lateness of each design](compare/lateness.svg)

| | half start within | 99 % within | what went wrong | a million | idle, a month |
|---|---|---|---|---|---|"""

OUTCOMES = """
## What went wrong

Simulated, the same tasks for each. *Fine* is every task done once and about as punctually as this design is; *not offered* is what the
design has no way to do; *late* is said where it is twice as late as usual and two minutes at least. *Lost* is what was taken and has not been
done six hours after the last due date (three days with TTL and S3); *refused* is what the caller was told; *twice* is what was done more than once.

![What went wrong with each design in each scene](compare/outcomes.svg)

| scene | what happens in it |
|---|---|"""

FAULTS = """
### Why

- **Every design** did a task twice whose process died after acting: nobody else knew that it was done. Actions have to bear that.
- **The single rule, as published** in 2020, cuts off the seconds. A task due at 10:05:30 is rung for at 10:05:06, is not due yet, and its minute does not
  ring again: it stays in the table as the earliest, and from then on no add sets the rule. The same happens when a task fails and the
  queue runs empty, and when a run parks the rule in the moment in which somebody adds. Deploying sets the rule back to the template's.
  It says of itself that it is a proof of concept. On whole minutes, with nothing failing, it did all of them.
- **Rules per task** end at 300 on a bus. Set directly, PutRule refuses the 301st and the caller knows it. Set by a table's stream, the row is
  stored, the call has succeeded, and nothing rings. Rules that nobody deletes count for ever.
- **The fixed rate** did {doubled} of 400 tasks twice: one invocation takes 80 s for them, the next begins after 60. What fails is tried every
  minute for ever ({tried_rate} starts of one task here), as with the poller ({tried_poller}).
- **TTL and stream**: one failing item holds up its shard for 24 hours, with everything behind it, and what succeeded in the same batch is
  done again with every try. An executor that only invokes the function that the item names (*delegating*) holds up nobody; what
  fails then is dropped after three starts.
- **S3 expiry** counts days from the next midnight, looks once a day and deletes in its own time. It tells only the key: without versions, what to
  do is gone with the object.
- **SQS** has no way to find a message again: what is moved comes at its old time, what is cancelled is done. A function that dies between
  sending a message on and ending leaves two of them.
- **Step Functions** finds an execution only in the list of all that run, and starts another for a move.
- **EventBridge Scheduler** lost nothing. A failing action is called again twice by Lambda; then it is gone unless there is a dead-letter queue.
- **duebell** lost nothing. What it does worse stands [above](#where-duebell-loses).
"""

EMULATED = """## On an emulator

The same designs, as code that calls AWS, ran beside each other on MiniStack, an AWS on one machine whose rules
really ring and whose functions really run: {on}. Nineteen tasks each: six at random seconds, eight at one minute, one moved
later, one earlier, one cancelled, one that fails at first, and one every minute. That shows that the code does what it says; how punctual
an emulator is says nothing of AWS. It looks at rules and schedules every ten seconds. It does not call a function again that a rule, a schedule or a topic invoked and that failed, as
Lambda does on AWS: that is the one task that these designs lose. The single rule stumbles over its first task at a random second, as in the
simulation. MiniStack's expiry of items tells no stream and its S3 expires nothing, so TTL and S3 are not in this table. Nobody died here and
nothing was deployed anew.

| on MiniStack | done | lost | twice | early | half start within | the latest | not offered |
|---|---|---|---|---|---|---|---|"""

COSTS = """
## What it costs

Dollars in us-east-1, without free tiers, storage, logs and what the action itself takes; *idle* is a month in which nothing is due. Units are
those that the simulation counted, of functions with 512 MB; duebell's are those of [`duebell cost`](performance.md#dollars), to the same
assumptions. To the second, its worker waits all the time when tasks come this often, which is most of what stands in its first column and
is the same for ten times as many. SQS depends on how far ahead a task is added: here three hours on average. The single rule's adds read
the whole table, which is short here.

![Dollars for a million tasks](compare/costs.svg)

| | a million that come due alone | 400 at a time | idle, a month | calls for a task | what runs while nothing is due |
|---|---|---|---|---|---|"""

LIMITS = """
## What binds as it grows

| tasks that wait | a thousand | a million | a hundred million |
|---|---|---|---|"""

OFFERS = """
## What it offers

| | move a task | cancel it | recurring | list what is to come | when the action fails |
|---|---|---|---|---|---|"""

GIVEN = """
## What the simulation takes as given

Each design is [code](../alternatives) against boto3's clients. In the simulation those clients are an account in frozen time, whose services behave as
AWS publishes it; what AWS does not publish is assumed. duebell runs by its own editor, worker and arming code, with its queue in memory.

| AWS | as simulated | who says so |
|---|---|---|"""

ASSUMED = """
Assumed:
"""

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
