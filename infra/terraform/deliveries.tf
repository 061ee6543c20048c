# By hand, as the template has a text for it: the other variables are in variables.tf.
variable "deliveries" {
  description = "Actions that are deliveries: a map, each name with its target and options. to is the ARN of a queue, topic, event bus, function or state machine, or an https URL. The worker may use these, and no others."
  type = map(object({
    to           = string
    form         = optional(string)
    attempts     = optional(number)
    backoff      = optional(map(number))
    secret       = optional(string)
    detail_type  = optional(string)
    at_most      = optional(number)
    per_second   = optional(number)
    closed       = optional(string)
    on_failed    = optional(string)
    keep_answers = optional(bool)
    run = optional(object({
      cluster         = string
      container       = string
      roles           = optional(list(string))
      subnets         = optional(list(string))
      security_groups = optional(list(string))
      public_ip       = optional(bool)
      launch_type     = optional(string)
      overrides       = optional(object({ cpu = optional(string), memory = optional(string), taskRoleArn = optional(string), executionRoleArn = optional(string), ephemeralStorage = optional(object({ sizeInGiB = number })) }))
    }))
  }))
  default = {}
}

# The deliveries as the worker reads them, and the ARNs in them by what the worker may do with each.
locals {
  deliveries = jsonencode({
    for name, one in var.deliveries : name => merge(
      { for field, value in one : field => value if value != null && field != "run" },
      {
        for field, run in { run = one.run } : field => merge(
          { for key, value in run : key => value if value != null && key != "overrides" },
          { for key, given in { overrides = run.overrides } : key => { for name, value in given : name => value if value != null } if given != null },
        ) if run != null
      },
    )
  })

  delivery_arns = distinct(concat(
    var.delivery_arns,
    # Of a task definition without a revision, the latest one is run: the permission is for each.
    [
      for one in var.deliveries : one.run != null && length(split(":", one.to)) == 6 ? "${one.to}:*" : one.to
      if startswith(one.to, "arn:")
    ],
    flatten([for one in var.deliveries : coalesce(one.run.roles, []) if one.run != null]),
    [for one in var.deliveries : one.secret if one.secret != null],
  ))

  # By the service in an ARN: the action, and how many of the ARN's parts the permission names. That for a version or
  # an alias of a state machine is for the state machine.
  # https://docs.aws.amazon.com/step-functions/latest/dg/auth-version-alias.html
  delivery_permissions = {
    sqs            = { sid = "DeliverToQueues", action = "sqs:SendMessage", parts = 8 }
    sns            = { sid = "DeliverToTopics", action = "sns:Publish", parts = 8 }
    events         = { sid = "DeliverToBuses", action = "events:PutEvents", parts = 8 }
    lambda         = { sid = "DeliverToFunctions", action = "lambda:InvokeFunction", parts = 8 }
    states         = { sid = "DeliverToStateMachines", action = "states:StartExecution", parts = 7 }
    ecs            = { sid = "DeliverToTaskDefinitions", action = "ecs:RunTask", parts = 8 }
    secretsmanager = { sid = "ReadSecrets", action = "secretsmanager:GetSecretValue", parts = 7 }
    ssm            = { sid = "ReadParameters", action = "ssm:GetParameter", parts = 7 }
    iam            = { sid = "PassRoles", action = "iam:PassRole", parts = 7 }
  }

  deliveries_allowed = {
    for service, one in local.delivery_permissions : service => sort(distinct([
      for arn in local.delivery_arns : join(":", slice(split(":", arn), 0, min(one.parts, length(split(":", arn)))))
      if split(":", arn)[2] == service
    ]))
  }
}
