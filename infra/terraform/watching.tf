locals {
  # In this order, as the ARN of a topic may be known later, and how many alarms there are may not.
  is_watched = var.alarms ? true : var.alarm_topic_arn != "" || var.alarm_mail != ""
  tells      = concat(var.alarm_topic_arn == "" ? [] : [var.alarm_topic_arn], aws_sns_topic.alarms[*].arn)

  # The metrics of the alarms. An alarm is raised by one period above its threshold.
  watched = {
    lost-rings = {
      description = "A ring never reached the worker."
      namespace   = "AWS/SQS"
      metric      = "ApproximateNumberOfMessagesVisible"
      dimensions  = { QueueName = aws_sqs_queue.lost_rings.name }
      statistic   = "Maximum"
      threshold   = 0
    }
    failed-runs = {
      description = "A run failed to the last of Lambda's tries."
      namespace   = "AWS/SQS"
      metric      = "ApproximateNumberOfMessagesVisible"
      dimensions  = { QueueName = aws_sqs_queue.failed_runs.name }
      statistic   = "Maximum"
      threshold   = 0
    }
    failed-tasks = {
      description = "A task failed for good; it is kept, and can be retried."
      namespace   = "duebell"
      metric      = "Failed"
      dimensions  = { Scheduler = var.name }
      statistic   = "Sum"
      threshold   = 0
    }
    lateness = {
      description = "One task in a hundred starts later than it should."
      namespace   = "duebell"
      metric      = "Lateness"
      dimensions  = { Scheduler = var.name }
      statistic   = "p99"
      threshold   = var.lateness_milliseconds
    }
    errors = {
      description = "The worker ends in errors; Lambda tries it again."
      namespace   = "AWS/Lambda"
      metric      = "Errors"
      dimensions  = { FunctionName = aws_lambda_function.worker.function_name }
      statistic   = "Sum"
      threshold   = 2
    }
    dead-runs = {
      description = "A run died without giving its lanes back; what was due in them started minutes late."
      namespace   = "duebell"
      metric      = "DeadRuns"
      dimensions  = { Scheduler = var.name }
      statistic   = "Sum"
      threshold   = 0
    }
    throttles = {
      description = "Lambda throttles the worker, so tasks are late."
      namespace   = "AWS/Lambda"
      metric      = "Throttles"
      dimensions  = { FunctionName = aws_lambda_function.worker.function_name }
      statistic   = "Sum"
      threshold   = 0
    }
    # 80 % of the 10 GB that DynamoDB lets a lane hold.
    lane-bytes = {
      description = "A lane is nearly full; then nothing can be added to it."
      namespace   = "duebell"
      metric      = "LaneBytes"
      dimensions  = { Scheduler = var.name }
      statistic   = "Maximum"
      threshold   = 8000000000
      missing     = "ignore" # it is measured now and then: until it is again, it is as it was
    }
  }

  watched_intake = {
    intake-dead-letters = {
      description = "A message of the intake queue could not be taken; its attributes say why."
      namespace   = "AWS/SQS"
      metric      = "ApproximateNumberOfMessagesVisible"
      dimensions  = { QueueName = "${local.intake}-dead-letters" }
      statistic   = "Maximum"
      threshold   = 0
    }
  }
}

# Tells who is to be woken. The subscription is a resource of its own, so that another address leaves the topic as it is.
resource "aws_sns_topic" "alarms" {
  # checkov:skip=CKV_AWS_26: CloudWatch cannot use SNS's own key, and an alarm holds nothing of a task
  count = var.alarm_mail == "" ? 0 : 1
  name  = "${var.name}-alarms"
  tags  = local.tags
}

resource "aws_sns_topic_subscription" "alarms" {
  count     = var.alarm_mail == "" ? 0 : 1
  topic_arn = aws_sns_topic.alarms[0].arn
  protocol  = "email"
  endpoint  = var.alarm_mail
}

resource "aws_cloudwatch_metric_alarm" "watched" {
  for_each = { for name, alarm in merge(local.watched, var.intake ? local.watched_intake : {}) : name => alarm if local.is_watched }

  alarm_name          = "${var.name}-${each.key}"
  alarm_description   = each.value.description
  namespace           = each.value.namespace
  metric_name         = each.value.metric
  dimensions          = each.value.dimensions
  statistic           = startswith(each.value.statistic, "p") ? null : each.value.statistic
  extended_statistic  = startswith(each.value.statistic, "p") ? each.value.statistic : null
  period              = 300
  evaluation_periods  = 1
  threshold           = each.value.threshold
  comparison_operator = "GreaterThanThreshold"
  treat_missing_data  = lookup(each.value, "missing", "notBreaching")
  alarm_actions       = local.tells
  tags                = local.tags
}

# Without a heartbeat the metric has no data, which is a breach.
resource "aws_cloudwatch_metric_alarm" "heartbeat" {
  count               = local.is_watched && var.heartbeat != "off" ? 1 : 0
  alarm_name          = "${var.name}-heartbeat"
  alarm_description   = "The worker was not woken to check its bell."
  namespace           = "AWS/Events"
  metric_name         = "Invocations"
  dimensions          = { RuleName = aws_cloudwatch_event_rule.heartbeat[0].name }
  statistic           = "Sum"
  period              = var.heartbeat == "hourly" ? 3600 : 86400
  evaluation_periods  = var.heartbeat == "hourly" ? 2 : 1
  threshold           = 1
  comparison_operator = "LessThanThreshold"
  treat_missing_data  = "breaching"
  alarm_actions       = local.tells
  tags                = local.tags
}

resource "aws_cloudwatch_dashboard" "watched" {
  count          = local.is_watched ? 1 : 0
  dashboard_name = var.name
  dashboard_body = <<-JSON
    {"widgets": [
      {"type": "text", "x": 0, "y": 0, "width": 24, "height": 1,
       "properties": {"markdown": "**duebell ${var.name}**: is it on time, is anything failing, what is queued"}},
      {"type": "metric", "x": 0, "y": 1, "width": 12, "height": 6, "properties": {
        "title": "Is it on time: lateness, ms", "region": "${data.aws_region.here.name}", "period": 60,
        "metrics": [["duebell", "Lateness", "Scheduler", "${var.name}", {"stat": "p50"}],
                    ["...", {"stat": "p99"}], ["...", {"stat": "Maximum"}]]}},
      {"type": "metric", "x": 12, "y": 1, "width": 12, "height": 6, "properties": {
        "title": "Overdue, and how often the bell was set", "region": "${data.aws_region.here.name}",
        "period": 300,
        "metrics": [["duebell", "Overdue", "Scheduler", "${var.name}", {"stat": "Maximum"}],
                    [".", "PutRuleCalls", ".", ".", {"stat": "Sum", "yAxis": "right"}]]}},
      {"type": "metric", "x": 0, "y": 7, "width": 12, "height": 6, "properties": {
        "title": "Is anything failing: tasks", "region": "${data.aws_region.here.name}", "period": 300,
        "stat": "Sum",
        "metrics": [["duebell", "Failed", "Scheduler", "${var.name}"], [".", "Retried", ".", "."],
                    [".", "Expired", ".", "."], [".", "Done", ".", ".", {"yAxis": "right"}]]}},
      {"type": "metric", "x": 12, "y": 7, "width": 12, "height": 6, "properties": {
        "title": "Is anything failing: the worker", "region": "${data.aws_region.here.name}",
        "period": 300, "stat": "Sum",
        "metrics": [["AWS/Lambda", "Errors", "FunctionName", "${var.name}"], [".", "Throttles", ".", "."],
                    [".", "Invocations", ".", ".", {"yAxis": "right"}],
                    ["AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", "${var.name}-lost-rings",
                     {"stat": "Maximum"}], ["...", "${var.name}-failed-runs", {"stat": "Maximum"}]]}},
      {"type": "metric", "x": 0, "y": 13, "width": 12, "height": 6, "properties": {
        "title": "What is queued, and bytes of the fullest lane", "region": "${data.aws_region.here.name}",
        "period": 300, "stat": "Maximum",
        "metrics": [["duebell", "QueueDepth", "Scheduler", "${var.name}"],
                    [".", "LaneBytes", ".", ".", {"yAxis": "right"}]]}},
      {"type": "metric", "x": 12, "y": 13, "width": 12, "height": 6, "properties": {
        "title": "How long runs take, ms", "region": "${data.aws_region.here.name}", "period": 300,
        "metrics": [["duebell", "RunDuration", "Scheduler", "${var.name}", {"stat": "p50"}],
                    ["...", {"stat": "Maximum"}]]}}
    ]}
  JSON
}

locals {
  queries = {
    "what failed, and why" = <<-QUERY
      filter event = "task" and outcome in ["failed", "retried"]
      | sort @timestamp desc
      | display @timestamp, id, action, attempt, outcome, failure, message, run
    QUERY
    "what was late"        = <<-QUERY
      filter event = "task" and lateness_ms > 120000
      | sort lateness_ms desc
      | display @timestamp, id, action, lateness_ms, outcome, run
    QUERY
    "the life of one task" = <<-QUERY
      filter id = "put the id here"
      | sort @timestamp asc
      | display @timestamp, event, action, attempt, outcome, lateness_ms, next_attempt, message, run
    QUERY
  }
}

resource "aws_cloudwatch_query_definition" "saved" {
  for_each = { for name, query in local.queries : name => query if local.is_watched && var.saved_queries }

  name            = "duebell/${var.name}/${each.key}"
  log_group_names = [aws_cloudwatch_log_group.worker.name]
  query_string    = each.value
}
