# The schedule of EventBridge Scheduler that is the bell with bell = "schedule". As of the rule, Terraform leaves alone
# what the editors and the worker set, and what an operator may: see rule.tf.
locals {
  # Spelled out, as the schedule is made before the worker and its alias.
  woken = var.snap_start ? "${local.worker}:live" : local.worker
}

resource "aws_scheduler_schedule" "bell" {
  # checkov:skip=CKV_AWS_297: it holds nothing of a task
  count                        = local.has_schedule ? 1 : 0
  name                         = var.name
  description                  = "Rings when the earliest task of the duebell queue is due. Set by duebell; do not edit."
  schedule_expression          = "cron(0 0 1 1 ? 2199)"
  schedule_expression_timezone = "UTC"
  state                        = "ENABLED"

  flexible_time_window {
    mode = "OFF"
  }
  target {
    arn      = local.woken
    role_arn = aws_iam_role.bell[0].arn

    retry_policy {
      maximum_event_age_in_seconds = 86400
      maximum_retry_attempts       = 185
    }
    dead_letter_config {
      arn = aws_sqs_queue.lost_rings.arn
    }
  }

  lifecycle {
    ignore_changes = [schedule_expression, state, description]
  }
  depends_on = [aws_iam_role_policy.bell]
}

# The schedule wakes the worker, and puts lost rings into their queue, in this role's name.
# https://docs.aws.amazon.com/scheduler/latest/UserGuide/cross-service-confused-deputy-prevention.html
data "aws_iam_policy_document" "assumed_by_scheduler" {
  statement {
    actions = ["sts:AssumeRole"]
    principals {
      type        = "Service"
      identifiers = ["scheduler.amazonaws.com"]
    }
    condition {
      test     = "StringEquals"
      variable = "aws:SourceAccount"
      values   = [data.aws_caller_identity.here.account_id]
    }
    condition {
      test     = "StringEquals"
      variable = "aws:SourceArn"
      values   = ["arn:${data.aws_partition.here.partition}:scheduler:${local.place}:schedule-group/default"]
    }
  }
}

data "aws_iam_policy_document" "bell" {
  statement {
    sid       = "Wake"
    actions   = ["lambda:InvokeFunction"]
    resources = [local.woken]
  }
  statement {
    sid       = "LostRings"
    actions   = ["sqs:SendMessage"]
    resources = [aws_sqs_queue.lost_rings.arn]
  }
  dynamic "statement" {
    for_each = var.kms_key_arn == "" ? [] : [var.kms_key_arn]
    content {
      sid       = "Key"
      actions   = ["kms:Decrypt", "kms:GenerateDataKey"]
      resources = [statement.value]
      condition {
        test     = "StringLike"
        variable = "kms:ViaService"
        values   = ["sqs.${data.aws_region.here.name}.*"]
      }
    }
  }
}

resource "aws_iam_role" "bell" {
  count                = local.has_schedule ? 1 : 0
  name_prefix          = "${var.name}-bell-"
  description          = "What the schedule of duebell ${var.name} may do."
  assume_role_policy   = data.aws_iam_policy_document.assumed_by_scheduler.json
  permissions_boundary = var.permissions_boundary_arn == "" ? null : var.permissions_boundary_arn
  tags                 = local.tags
}

resource "aws_iam_role_policy" "bell" {
  count  = local.has_schedule ? 1 : 0
  name   = "bell"
  role   = aws_iam_role.bell[0].id
  policy = data.aws_iam_policy_document.bell.json
}
