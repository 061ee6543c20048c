data "aws_caller_identity" "here" {}
data "aws_partition" "here" {}
data "aws_region" "here" {}

locals {
  tags = { duebell = var.name }

  # Spelled out, so that a policy does not wait for what it is about.
  place  = "${data.aws_region.here.name}:${data.aws_caller_identity.here.account_id}"
  table  = "arn:${data.aws_partition.here.partition}:dynamodb:${local.place}:table/${var.name}"
  worker = "arn:${data.aws_partition.here.partition}:lambda:${local.place}:function:${var.name}"
  rule   = "arn:${data.aws_partition.here.partition}:events:${local.place}:rule/${var.name}"

  schedule = "arn:${data.aws_partition.here.partition}:scheduler:${local.place}:schedule/default/${var.name}"

  lost_rings = "${var.name}-lost-rings"
  intake     = "${var.name}-intake"
}

# What both the worker and the editors do.
data "aws_iam_policy_document" "editor" {
  statement {
    sid = "Queue"
    actions = [
      "dynamodb:BatchGetItem",
      "dynamodb:DeleteItem",
      "dynamodb:GetItem",
      "dynamodb:PartiQLInsert",
      "dynamodb:PutItem",
      "dynamodb:Query",
      "dynamodb:UpdateItem",
    ]
    resources = [local.table]
  }
  statement {
    sid       = "Due"
    actions   = ["dynamodb:Query"]
    resources = ["${local.table}/index/due-index"]
  }
  statement {
    sid       = "Past"
    actions   = ["dynamodb:Query"]
    resources = ["${local.table}/index/past-index"]
  }
  dynamic "statement" {
    for_each = local.has_rule ? [local.rule] : []
    content {
      sid       = "Arm"
      actions   = ["events:DescribeRule", "events:ListTargetsByRule", "events:PutRule"]
      resources = [statement.value]
    }
  }
  dynamic "statement" {
    for_each = local.has_schedule ? [local.schedule] : []
    content {
      sid       = "ArmSchedule"
      actions   = ["scheduler:GetSchedule", "scheduler:UpdateSchedule"]
      resources = [statement.value]
    }
  }
  # UpdateSchedule names the role, and only who may pass it may do so.
  dynamic "statement" {
    for_each = aws_iam_role.bell[*].arn
    content {
      sid       = "PassBellRole"
      actions   = ["iam:PassRole"]
      resources = [statement.value]
      condition {
        test     = "StringEquals"
        variable = "iam:PassedToService"
        values   = ["scheduler.amazonaws.com"]
      }
    }
  }
  statement {
    sid       = "Call"
    actions   = ["lambda:InvokeFunction"]
    resources = [local.worker]
  }
  dynamic "statement" {
    for_each = var.snap_start ? ["${local.worker}:live"] : []
    content {
      sid       = "CallVersion"
      actions   = ["lambda:InvokeFunction"]
      resources = [statement.value]
    }
  }
  dynamic "statement" {
    for_each = var.intake ? ["it"] : []
    content {
      sid       = "Intake"
      actions   = ["sqs:GetQueueAttributes"]
      resources = [aws_sqs_queue.intake[0].arn, aws_sqs_queue.intake_dead_letters[0].arn]
    }
  }
  dynamic "statement" {
    for_each = var.kms_key_arn == "" ? [] : [var.kms_key_arn]
    content {
      sid       = "Key"
      actions   = ["kms:Decrypt", "kms:GenerateDataKey"]
      resources = [statement.value]
      # Only as DynamoDB asks for the table's items: not for anything else that the key protects.
      condition {
        test     = "StringLike"
        variable = "kms:ViaService"
        values   = ["dynamodb.${data.aws_region.here.name}.*"]
      }
    }
  }
}

# What editors do besides: status and doctor count the messages that were lost.
data "aws_iam_policy_document" "editor_policy" {
  source_policy_documents = [data.aws_iam_policy_document.editor.json]

  statement {
    sid       = "DeadLetters"
    actions   = ["sqs:GetQueueAttributes"]
    resources = [aws_sqs_queue.lost_rings.arn, aws_sqs_queue.failed_runs.arn]
  }
}

data "aws_iam_policy_document" "worker" {
  source_policy_documents = [data.aws_iam_policy_document.editor.json]

  statement {
    sid       = "Claim"
    actions   = ["dynamodb:PartiQLDelete", "dynamodb:PartiQLUpdate"]
    resources = [local.table]
  }
  statement {
    sid       = "Log"
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    resources = ["${aws_cloudwatch_log_group.worker.arn}:*"]
  }
  statement {
    sid       = "FailedRuns"
    actions   = ["sqs:SendMessage"]
    resources = [aws_sqs_queue.failed_runs.arn]
  }
  dynamic "statement" {
    for_each = aws_sqs_queue.intake[*].arn
    content {
      sid       = "TakeMessages"
      actions   = ["sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:ReceiveMessage"]
      resources = [statement.value]
    }
  }
  dynamic "statement" {
    for_each = aws_sqs_queue.intake_dead_letters[*].arn
    content {
      sid       = "DeadLetters"
      actions   = ["sqs:SendMessage"]
      resources = [statement.value]
    }
  }
  # What is delivered to, and nothing beside it.
  dynamic "statement" {
    for_each = { for service, arns in local.deliveries_allowed : service => arns if length(arns) > 0 }
    content {
      sid       = local.delivery_permissions[statement.key].sid
      actions   = [local.delivery_permissions[statement.key].action]
      resources = statement.value
    }
  }
  # Lambda reads the environment, and puts failed runs into their queue, in the role's name.
  dynamic "statement" {
    for_each = var.kms_key_arn == "" ? [] : [var.kms_key_arn]
    content {
      sid       = "WorkerKey"
      actions   = ["kms:Decrypt", "kms:GenerateDataKey"]
      resources = [statement.value]
      condition {
        test     = "StringLike"
        variable = "kms:ViaService"
        values   = ["lambda.${data.aws_region.here.name}.*", "sqs.${data.aws_region.here.name}.*"]
      }
    }
  }
  # Lambda puts the worker into its subnets in the role's name. The code in it may not.
  # https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html
  dynamic "statement" {
    for_each = length(var.subnet_ids) > 0 ? ["*"] : []
    content {
      sid = "Network"
      actions = [
        "ec2:AssignPrivateIpAddresses",
        "ec2:CreateNetworkInterface",
        "ec2:DeleteNetworkInterface",
        "ec2:DescribeNetworkInterfaces",
        "ec2:DescribeSubnets",
        "ec2:UnassignPrivateIpAddresses",
      ]
      resources = [statement.value] # most of these know no resources
    }
  }
  dynamic "statement" {
    for_each = length(var.subnet_ids) > 0 ? ["*"] : []
    content {
      sid    = "NotByItself"
      effect = "Deny"
      actions = [
        "ec2:AssignPrivateIpAddresses",
        "ec2:CreateNetworkInterface",
        "ec2:DeleteNetworkInterface",
        "ec2:UnassignPrivateIpAddresses",
      ]
      resources = [statement.value]
      condition {
        test     = "ArnEquals"
        variable = "lambda:SourceFunctionArn"
        values   = [local.worker]
      }
    }
  }
  dynamic "statement" {
    for_each = var.tracing ? ["*"] : []
    content {
      sid       = "Trace"
      actions   = ["xray:PutTraceSegments", "xray:PutTelemetryRecords"]
      resources = [statement.value] # X-Ray knows no resources
    }
  }
}

data "aws_iam_policy_document" "assumed_by_lambda" {
  statement {
    actions = ["sts:AssumeRole"]
    principals {
      type        = "Service"
      identifiers = ["lambda.amazonaws.com"]
    }
  }
}

resource "aws_iam_role" "worker" {
  name_prefix          = "${var.name}-worker-"
  description          = "What the duebell worker ${var.name} may do."
  assume_role_policy   = data.aws_iam_policy_document.assumed_by_lambda.json
  permissions_boundary = var.permissions_boundary_arn == "" ? null : var.permissions_boundary_arn
  tags                 = local.tags
}

resource "aws_iam_role_policy" "worker" {
  name   = "worker"
  role   = aws_iam_role.worker.id
  policy = data.aws_iam_policy_document.worker.minified_json

  # https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
  lifecycle {
    precondition {
      condition     = length(data.aws_iam_policy_document.worker.minified_json) <= 10240
      error_message = "The worker's permissions are too large for IAM: have one event bus or topic tell some of the deliveries apart."
    }
  }
}

# One resource for all, as their ARNs may be known later; it also detaches what others attach to this role.
resource "aws_iam_role_policy_attachments_exclusive" "worker" {
  count       = length(var.worker_policies) > 0 ? 1 : 0
  role_name   = aws_iam_role.worker.name
  policy_arns = var.worker_policies
}

# For the roles of services that add tasks and of people who look after them: attach it.
resource "aws_iam_policy" "editor" {
  name_prefix = "${var.name}-editor-"
  description = "What an editor of the duebell scheduler ${var.name} may do."
  policy      = data.aws_iam_policy_document.editor_policy.json
  tags        = local.tags
}
