# Made by `make reference` of infra/duebell_infra/deploy/parameters.py; do not edit.

variable "name" {
  description = "Names the table, the rule, the worker and the rest. Cannot be changed later."
  type        = string
  default     = "duebell"
  validation {
    condition     = can(regex("^[a-zA-Z][a-zA-Z0-9-]{2,29}$", var.name))
    error_message = "3 to 30 letters, digits and hyphens, and a letter first"
  }
}

variable "color" {
  description = "The colour of the scheduler's name on the page and in terminals, such as red for production."
  type        = string
  default     = ""
  validation {
    condition     = contains(["", "red", "orange", "yellow", "green", "blue", "purple", "gray"], var.color)
    error_message = "red, orange, yellow, green, blue, purple or gray."
  }
}

variable "worker" {
  description = "module:attribute of the Worker in the bundle. Without it the worker's only actions are its deliveries."
  type        = string
  default     = ""
}

variable "bell" {
  description = "The bell that wakes the worker: a rule of EventBridge, or a schedule of EventBridge Scheduler."
  type        = string
  default     = "rule"
  validation {
    condition     = contains(["rule", "schedule"], var.bell)
    error_message = "rule or schedule."
  }
}

variable "other_bell" {
  description = "Whether the other bell stays beside it, for clients that still set it. duebell deploy turns it on when Bell changes."
  type        = bool
  default     = false
}

variable "heartbeat" {
  description = "How often a second rule, which nobody changes, wakes the worker to check the one rule. With alarms, an alarm goes off when it does not."
  type        = string
  default     = "off"
  validation {
    condition     = contains(["off", "daily", "hourly"], var.heartbeat)
    error_message = "off, daily or hourly."
  }
}

variable "lanes" {
  description = "Partitions of the queue. Read once, when the queue is first used; duebell relane gives it more."
  type        = number
  default     = 4
  validation {
    condition     = var.lanes >= 1 && var.lanes <= 64
    error_message = "1 to 64."
  }
}

variable "retention_days" {
  description = "Days for which ended tasks are kept."
  type        = number
  default     = 14
  validation {
    condition     = var.retention_days >= 1 && var.retention_days <= 36500
    error_message = "1 to 36500."
  }
}

variable "history" {
  description = "Which ended tasks are kept. all: every task, listed. failed: done and cancelled tasks are found by their ids, but not listed. none: a done task is deleted when it ends. Failed and expired tasks are always kept."
  type        = string
  default     = "all"
  validation {
    condition     = contains(["all", "failed", "none"], var.history)
    error_message = "all, failed or none."
  }
}

variable "kept_payload" {
  description = "Bytes of the largest payload that a done task keeps. 0 keeps none."
  type        = number
  default     = 2048
  validation {
    condition     = var.kept_payload >= 0 && var.kept_payload <= 358400
    error_message = "0 to 358400."
  }
}

variable "audit" {
  description = "The place where each change by an editor is kept. log: a line of the logger duebell.audit. table: an item as well, which duebell changes lists."
  type        = string
  default     = "log"
  validation {
    condition     = contains(["log", "table"], var.audit)
    error_message = "log or table."
  }
}

variable "audit_days" {
  description = "Days for which the table keeps changes."
  type        = number
  default     = 90
  validation {
    condition     = var.audit_days >= 1 && var.audit_days <= 36500
    error_message = "1 to 36500."
  }
}

variable "runtime" {
  description = "The Python that the bundle was built for."
  type        = string
  default     = "python3.13"
  validation {
    condition     = contains(["python3.11", "python3.12", "python3.13", "python3.14"], var.runtime)
    error_message = "python3.11, python3.12, python3.13 or python3.14."
  }
}

variable "architecture" {
  description = "The processor that the bundle was built for."
  type        = string
  default     = "arm64"
  validation {
    condition     = contains(["arm64", "x86_64"], var.architecture)
    error_message = "arm64 or x86_64."
  }
}

variable "memory_size" {
  description = "The worker's memory in MB; its share of the processor grows with it."
  type        = number
  default     = 512
  validation {
    condition     = var.memory_size >= 128 && var.memory_size <= 10240
    error_message = "128 to 10240."
  }
}

variable "timeout" {
  description = "The longest that one run may take, in seconds. The rest goes on in the next run."
  type        = number
  default     = 300
  validation {
    condition     = var.timeout >= 30 && var.timeout <= 900
    error_message = "30 to 900."
  }
}

variable "snap_start" {
  description = "Whether Lambda starts the worker from a snapshot of the process. Needs Python 3.12 or newer. Lambda charges for keeping it, and for each start from it."
  type        = bool
  default     = false
}

variable "precision" {
  description = "How near to their due date tasks start. second: the worker also waits for tasks that are due soon, which costs its time."
  type        = string
  default     = "minute"
  validation {
    condition     = contains(["minute", "second"], var.precision)
    error_message = "minute or second."
  }
}

variable "parallel_runs" {
  description = "The most runs that share due tasks, if one run cannot do them in time. At most one for each lane."
  type        = number
  default     = 4
  validation {
    condition     = var.parallel_runs >= 1 && var.parallel_runs <= 16
    error_message = "1 to 16."
  }
}

variable "log_retention_days" {
  description = "Days for which the worker's log is kept."
  type        = number
  default     = 30
  validation {
    condition     = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653], var.log_retention_days)
    error_message = "1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288 or 3653."
  }
}

variable "log_format" {
  description = "The format of what your actions log, and of Lambda's own lines. The worker's lines are JSON in both. In JSON, Lambda can filter all by their level."
  type        = string
  default     = "Text"
  validation {
    condition     = contains(["Text", "JSON"], var.log_format)
    error_message = "Text or JSON."
  }
}

variable "capacity" {
  description = "How DynamoDB is paid for. on-demand, by the request; provisioned, by the hour, between the units below, scaled to 70 % use. The same bounds are for the table and for past-index."
  type        = string
  default     = "on-demand"
  validation {
    condition     = contains(["on-demand", "provisioned"], var.capacity)
    error_message = "on-demand or provisioned."
  }
}

variable "min_read_units" {
  description = "The fewest read units that are provisioned."
  type        = number
  default     = 10
  validation {
    condition     = var.min_read_units >= 1
    error_message = "1 or more."
  }
}

variable "max_read_units" {
  description = "The most read units that are provisioned."
  type        = number
  default     = 3000
  validation {
    condition     = var.max_read_units >= 1
    error_message = "1 or more."
  }
}

variable "min_write_units" {
  description = "The fewest write units that are provisioned."
  type        = number
  default     = 10
  validation {
    condition     = var.min_write_units >= 1
    error_message = "1 or more."
  }
}

variable "max_write_units" {
  description = "The most write units that are provisioned."
  type        = number
  default     = 4000
  validation {
    condition     = var.max_write_units >= 1
    error_message = "1 or more."
  }
}

variable "deletion_protection" {
  description = "Whether the table refuses to be deleted. duebell destroy --delete-table turns it off first."
  type        = bool
  default     = true
}

variable "kms_key_arn" {
  description = "A KMS key of yours for the table, the queues, the log and the environment. Without it AWS's own keys are used."
  type        = string
  default     = ""
}

variable "environment" {
  description = "Environment variables for your actions, as a JSON object of texts. Not for secrets: give the worker a policy to read those where they are kept."
  type        = map(string)
  default     = {}
}

variable "worker_policies" {
  description = "ARNs of IAM managed policies with what your actions may do, beside what duebell needs."
  type        = list(string)
  default     = []
}

variable "intake" {
  description = "Whether there is an intake queue, an SQS queue whose messages add and change tasks."
  type        = bool
  default     = false
}

variable "permissions_boundary_arn" {
  description = "An IAM policy that bounds what the worker's role may do, where your organisation wants one."
  type        = string
  default     = ""
}

variable "subnet_ids" {
  description = "Subnets of a VPC for the worker. From there it reaches DynamoDB, EventBridge, Lambda and, with an intake queue, SQS by a NAT gateway or by endpoints of the VPC. Empty: no VPC."
  type        = list(string)
  default     = []
}

variable "security_group_ids" {
  description = "Security groups of the worker in its subnets; they must let it out to port 443."
  type        = list(string)
  default     = []
}

variable "layers" {
  description = "ARNs of versions of Lambda layers that the worker has, five at most."
  type        = list(string)
  default     = []
}

variable "tracing" {
  description = "Whether X-Ray traces the worker's runs."
  type        = bool
  default     = false
}

variable "metrics" {
  description = "Whether the worker writes metrics without alarms; with alarms it always does. CloudWatch charges for each metric, and each action has five."
  type        = bool
  default     = false
}

variable "alarms" {
  description = "Whether to make the alarms, the dashboard and the saved log queries even if the alarms tell nobody. CloudWatch charges for alarms and dashboards."
  type        = bool
  default     = false
}

variable "alarm_mail" {
  description = "An address that the alarms are mailed to. AWS first sends it a mail with a link to agree."
  type        = string
  default     = ""
  validation {
    condition     = can(regex("^([^@\\s]+@[^@\\s]+)?$", var.alarm_mail))
    error_message = "An address of mail, such as oncall@example.com"
  }
}

variable "alarm_topic_arn" {
  description = "An SNS topic of yours that the alarms notify."
  type        = string
  default     = ""
  validation {
    condition     = can(regex("^(arn:[\\w-]+:sns:[\\w-]+:\\d{12}:[\\w-]+)?$", var.alarm_topic_arn))
    error_message = "The ARN of an SNS topic, such as arn:aws:sns:eu-central-1:123456789012:oncall"
  }
}

variable "lateness_milliseconds" {
  description = "How late one task in a hundred may start before the alarm, in milliseconds."
  type        = number
  default     = 300000
  validation {
    condition     = var.lateness_milliseconds >= 60000
    error_message = "60000 or more."
  }
}

variable "bundle" {
  description = "The worker's bundle, a zip that `duebell bundle` built."
  type        = string
}

variable "delivery_arns" {
  description = "ARNs of the targets and secrets of the deliveries that your code declares, as `duebell bundle` names them. Those in deliveries need not be here."
  type        = list(string)
  default     = []
}

variable "saved_queries" {
  description = "Whether to save the log queries too; some regions and emulators have none."
  type        = bool
  default     = true
}
