locals {
  variables = {
    DUEBELL_TABLE          = var.name
    DUEBELL_RULE           = var.name
    DUEBELL_BELL           = var.bell
    DUEBELL_WORKER         = var.worker
    DUEBELL_DELIVERIES     = local.deliveries
    DUEBELL_LANES          = tostring(var.lanes)
    DUEBELL_RETENTION_DAYS = tostring(var.retention_days)
    DUEBELL_HISTORY        = var.history
    DUEBELL_KEPT_PAYLOAD   = tostring(var.kept_payload)
    DUEBELL_AUDIT          = var.audit
    DUEBELL_AUDIT_DAYS     = tostring(var.audit_days)
    DUEBELL_METRICS        = var.metrics || local.is_watched ? "on" : "off"
    DUEBELL_PRECISION      = var.precision
    DUEBELL_PARALLEL_RUNS  = tostring(var.parallel_runs)
    DUEBELL_FUNCTION       = local.called
    DUEBELL_ENVIRONMENT    = jsonencode(var.environment)
    DUEBELL_COLOR          = var.color
    DUEBELL_INTAKE         = var.intake ? local.intake : ""
  }
}

resource "aws_lambda_function" "worker" {
  # checkov:skip=CKV_AWS_115: runs hold leases, so one more at a time is harmless; a limit would throttle rings
  # checkov:skip=CKV_AWS_116: failed runs go to a queue by the invoke config, which also tells why
  # checkov:skip=CKV_AWS_117: in your VPC with subnet_ids; by itself it needs AWS's own services only
  # checkov:skip=CKV_AWS_173: AWS's own key unless kms_key_arn is given, and no secrets belong there
  # checkov:skip=CKV_AWS_272: the bundle is built and applied by the same hands
  function_name    = var.name
  description      = "Runs the duebell tasks that are due, and arms the rule for the next."
  handler          = "duebell.lambda_handler.handler"
  runtime          = var.runtime
  architectures    = [var.architecture]
  filename         = local.by_s3 ? null : var.bundle
  s3_bucket        = local.by_s3 ? aws_s3_object.bundle[0].bucket : null
  s3_key           = local.by_s3 ? aws_s3_object.bundle[0].key : null
  source_code_hash = filebase64sha256(var.bundle)
  role             = aws_iam_role.worker.arn
  memory_size      = var.memory_size
  layers           = var.layers
  timeout          = var.timeout
  kms_key_arn      = var.kms_key_arn == "" ? null : var.kms_key_arn
  publish          = var.snap_start # Lambda makes snapshots of published versions only
  tags             = local.tags

  logging_config {
    log_format = var.log_format
    log_group  = aws_cloudwatch_log_group.worker.name
  }
  dynamic "vpc_config" {
    for_each = length(var.subnet_ids) > 0 ? ["in it"] : []
    content {
      subnet_ids         = var.subnet_ids
      security_group_ids = var.security_group_ids
    }
  }
  dynamic "snap_start" {
    for_each = var.snap_start ? ["of each version"] : []
    content {
      apply_on = "PublishedVersions"
    }
  }
  tracing_config {
    mode = var.tracing ? "Active" : "PassThrough"
  }
  environment {
    variables = local.variables
  }

  lifecycle {
    precondition {
      condition     = (length(var.subnet_ids) > 0) == (length(var.security_group_ids) > 0)
      error_message = "subnet_ids and security_group_ids go together."
    }
    precondition {
      condition     = length(setintersection(keys(var.environment), keys(local.variables))) == 0
      error_message = "environment has variables that the module sets itself: leave out those that begin with DUEBELL_."
    }
    precondition {
      condition     = !var.snap_start || var.runtime != "python3.11"
      error_message = "snap_start needs Python 3.12 or newer: build the bundle with --python 3.13, and set runtime."
    }
    # Lambda measures the environment as JSON; the other variables take less than the rest.
    # https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
    precondition {
      condition     = length(jsonencode([local.deliveries, jsonencode(var.environment)])) <= 3400
      error_message = "deliveries and environment are too large: Lambda's environment takes 4 KB. Declare deliveries in code, with worker.deliver."
    }
  }
  depends_on = [
    aws_scheduler_schedule.bell, # which is there before the worker sets it
    aws_iam_role_policy.worker,  # by which Lambda puts it into its subnets
    aws_sqs_queue.intake,        # Lambda refuses a timeout that is longer than the queue's visibility timeout
  ]
}

# What everybody calls where snap_start is on: the newest version. Terraform leaves the versions before it, and each has a
# snapshot that is paid for until somebody deletes it: docs/how-to/snapstart.md.
resource "aws_lambda_alias" "live" {
  count            = var.snap_start ? 1 : 0
  name             = "live"
  function_name    = aws_lambda_function.worker.function_name
  function_version = aws_lambda_function.worker.version
}

locals {
  called    = var.snap_start ? "${var.name}:live" : var.name
  qualifier = var.snap_start ? aws_lambda_alias.live[0].name : null
}

# A run whose time is up starts its successor, and so on for as long as there is something to do: after some sixteen of
# these Lambda would take them for a loop that nobody wants, and stop the next. It looks for loops, and can be told not to,
# in all regions but these, and neither in GovCloud nor in China.
# https://github.com/aws/aws-lambda-roadmap/issues/18, September 2025
locals {
  looks_for_loops = data.aws_partition.here.partition == "aws" && !contains(["mx-central-1", "ap-southeast-6"], data.aws_region.here.name)
}

resource "aws_lambda_function_recursion_config" "worker" {
  count          = local.looks_for_loops ? 1 : 0
  function_name  = aws_lambda_function.worker.function_name
  recursive_loop = "Allow"
}

# Whatever an apply did to the rule, the worker sets it right: it is invoked after every apply that changed the rule
# or what it wakes, for no lane of the queue, and puts the rule where the queue needs it. For tasks that are due by
# then it starts a run.
resource "aws_lambda_invocation" "arm" {
  count         = local.has_rule ? 1 : 0
  function_name = aws_lambda_function.worker.function_name
  qualifier     = coalesce(local.qualifier, "$LATEST")
  input         = jsonencode({ duebell = { lanes = [] } })

  lifecycle {
    replace_triggered_by = [
      aws_cloudwatch_event_rule.bell,
      aws_cloudwatch_event_target.worker,
      aws_iam_role_policy.worker,
      aws_lambda_function.worker,
      aws_lambda_permission.bell,
    ]
  }
  depends_on = [
    aws_cloudwatch_event_target.worker,
    aws_dynamodb_table.queue,
    aws_iam_role_policy.worker,
    aws_iam_role_policy_attachments_exclusive.worker,
    aws_lambda_permission.bell,
  ]
}

# The same for the schedule: what is not there cannot trigger anything.
resource "aws_lambda_invocation" "arm_schedule" {
  count         = local.has_schedule ? 1 : 0
  function_name = aws_lambda_function.worker.function_name
  qualifier     = local.qualifier
  input         = jsonencode({ duebell = { lanes = [] } })

  lifecycle {
    replace_triggered_by = [
      aws_iam_role_policy.worker,
      aws_lambda_function.worker,
      aws_scheduler_schedule.bell,
    ]
  }
  depends_on = [
    aws_dynamodb_table.queue,
    aws_iam_role_policy.worker,
    aws_iam_role_policy_attachments_exclusive.worker,
  ]
}

# Lambda tries a run that died again, after a minute, and that try waits for the end of its lease: two minutes after the
# run began. A second time it does so after two minutes. After that, or should Lambda not, the rule starts another run: it
# rings for the end of the lease, one to three minutes later.
resource "aws_lambda_function_event_invoke_config" "worker" {
  function_name                = aws_lambda_function.worker.function_name
  qualifier                    = coalesce(local.qualifier, "$LATEST")
  maximum_retry_attempts       = 2
  maximum_event_age_in_seconds = 21600

  destination_config {
    on_failure {
      destination = aws_sqs_queue.failed_runs.arn
    }
  }
}

# Runs that failed to the last of Lambda's tries.
resource "aws_sqs_queue" "failed_runs" {
  name                      = "${var.name}-failed-runs"
  message_retention_seconds = 1209600
  sqs_managed_sse_enabled   = var.kms_key_arn == "" ? true : null
  kms_master_key_id         = var.kms_key_arn == "" ? null : var.kms_key_arn
  policy                    = data.aws_iam_policy_document.tls_only.json
  tags                      = local.tags
}

resource "aws_cloudwatch_log_group" "worker" {
  # checkov:skip=CKV_AWS_338: how long to keep it is log_retention_days; a year of it is a cost, not a safety
  name              = "/aws/lambda/${var.name}"
  retention_in_days = var.log_retention_days
  kms_key_id        = var.kms_key_arn == "" ? null : var.kms_key_arn
  tags              = local.tags
}
