locals {
  has_rule     = var.bell == "rule" || var.other_bell
  has_schedule = var.bell == "schedule" || var.other_bell
}

# The editors and the worker set the schedule, and an operator may disable the rule; here it is only what it is
# created with. Terraform leaves both alone from then on. (Tags it writes without the rest.) Should a later version
# of this module have to change something else of the rule, Terraform writes the schedule with it, as it was when the
# plan was made. So the worker is invoked after that and sets it right: see worker.tf.
resource "aws_cloudwatch_event_rule" "bell" {
  count               = local.has_rule ? 1 : 0
  name                = var.name
  description         = "Rings when the earliest task of the duebell queue is due. Set by duebell; do not edit."
  schedule_expression = "cron(0 0 1 1 ? 1970)"
  state               = "ENABLED"
  tags                = local.tags

  lifecycle {
    ignore_changes = [schedule_expression, state, description]
  }
}

resource "aws_cloudwatch_event_target" "worker" {
  count     = local.has_rule ? 1 : 0
  rule      = aws_cloudwatch_event_rule.bell[0].name
  target_id = "worker"
  arn       = var.snap_start ? aws_lambda_alias.live[0].arn : aws_lambda_function.worker.arn

  retry_policy {
    maximum_event_age_in_seconds = 86400
    maximum_retry_attempts       = 185
  }
  dead_letter_config {
    arn = aws_sqs_queue.lost_rings.arn
  }
}

resource "aws_lambda_permission" "bell" {
  count         = local.has_rule ? 1 : 0
  function_name = aws_lambda_function.worker.function_name
  qualifier     = local.qualifier
  action        = "lambda:InvokeFunction"
  principal     = "events.amazonaws.com"
  source_arn    = aws_cloudwatch_event_rule.bell[0].arn
}

# Rings that never reached the worker: EventBridge gave up on them, or was not allowed to invoke it.
resource "aws_sqs_queue" "lost_rings" {
  name                      = local.lost_rings
  message_retention_seconds = 1209600
  sqs_managed_sse_enabled   = var.kms_key_arn == "" ? true : null
  kms_master_key_id         = var.kms_key_arn == "" ? null : var.kms_key_arn
  policy                    = data.aws_iam_policy_document.lost_rings.json
  tags                      = local.tags
}

# No queue takes a call without TLS.
data "aws_iam_policy_document" "tls_only" {
  statement {
    sid       = "TlsOnly"
    effect    = "Deny"
    actions   = ["sqs:*"]
    resources = ["*"]
    principals {
      type        = "*"
      identifiers = ["*"]
    }
    condition {
      test     = "Bool"
      variable = "aws:SecureTransport"
      values   = ["false"]
    }
  }
}

data "aws_iam_policy_document" "lost_rings" {
  source_policy_documents = [data.aws_iam_policy_document.tls_only.json]

  statement {
    actions   = ["sqs:SendMessage"]
    resources = ["arn:${data.aws_partition.here.partition}:sqs:${local.place}:${local.lost_rings}"]
    principals {
      type        = "Service"
      identifiers = ["events.amazonaws.com"]
    }
    condition {
      test     = "ArnEquals"
      variable = "aws:SourceArn"
      values   = [local.rule]
    }
  }
}

# Nobody changes this rule. Its run has no lanes: it reads the bell and sets it right.
resource "aws_cloudwatch_event_rule" "heartbeat" {
  count               = var.heartbeat == "off" ? 0 : 1
  name                = "${var.name}-heartbeat"
  description         = "Has the worker of the duebell queue check its bell."
  schedule_expression = var.heartbeat == "hourly" ? "rate(1 hour)" : "rate(1 day)"
  tags                = local.tags
}

resource "aws_cloudwatch_event_target" "heartbeat" {
  count     = var.heartbeat == "off" ? 0 : 1
  rule      = aws_cloudwatch_event_rule.heartbeat[0].name
  target_id = "worker"
  arn       = var.snap_start ? aws_lambda_alias.live[0].arn : aws_lambda_function.worker.arn
  input     = jsonencode({ duebell = { lanes = [] } })
}

resource "aws_lambda_permission" "heartbeat" {
  count         = var.heartbeat == "off" ? 0 : 1
  function_name = aws_lambda_function.worker.function_name
  qualifier     = local.qualifier
  action        = "lambda:InvokeFunction"
  principal     = "events.amazonaws.com"
  source_arn    = aws_cloudwatch_event_rule.heartbeat[0].arn
}
