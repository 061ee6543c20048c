"""All the mutants there are."""

from .mutant import Mutant
from .of_a_process import OF_A_PROCESS
from .of_a_run import OF_A_RUN
from .of_a_run_of_one import OF_A_RUN_OF_ONE
from .of_action_limits import OF_ACTION_LIMITS
from .of_arming import OF_ARMING
from .of_batches import OF_BATCHES
from .of_deliveries import OF_DELIVERIES
from .of_deploying import OF_DEPLOYING
from .of_direct_calls import OF_DIRECT_CALLS
from .of_echoes_and_holds import OF_ECHOES_AND_HOLDS
from .of_follow_ups import OF_FOLLOW_UPS
from .of_full_lanes import OF_FULL_LANES
from .of_precision import OF_PRECISION
from .of_priorities import OF_PRIORITIES
from .of_pushing import OF_PUSHING
from .of_reservations import OF_RESERVATIONS
from .of_sharing import OF_SHARING
from .of_snoozing import OF_SNOOZING
from .of_taking_over import OF_TAKING_OVER
from .of_the_bell import OF_THE_BELL
from .of_the_guard import OF_THE_GUARD
from .of_the_http_editor import OF_THE_HTTP_EDITOR
from .of_the_intake import OF_THE_INTAKE
from .of_the_limits import OF_THE_LIMITS
from .of_the_queue import OF_THE_QUEUE
from .of_the_record import OF_THE_RECORD
from .of_the_relane import OF_THE_RELANE
from .of_the_tries import OF_THE_TRIES
from .of_the_worker_record import OF_THE_WORKER_RECORD
from .of_time import OF_TIME
from .of_verifying import OF_VERIFYING

__all__ = ["MUTANTS"]

MUTANTS: tuple[Mutant, ...] = (
    *OF_THE_RECORD,
    *OF_ARMING,
    *OF_THE_BELL,
    *OF_A_RUN,
    *OF_ECHOES_AND_HOLDS,
    *OF_A_RUN_OF_ONE,
    *OF_PRECISION,
    *OF_DIRECT_CALLS,
    *OF_ACTION_LIMITS,
    *OF_PRIORITIES,
    *OF_SHARING,
    *OF_TAKING_OVER,
    *OF_THE_QUEUE,
    *OF_SNOOZING,
    *OF_PUSHING,
    *OF_FOLLOW_UPS,
    *OF_BATCHES,
    *OF_FULL_LANES,
    *OF_THE_GUARD,
    *OF_THE_RELANE,
    *OF_THE_TRIES,
    *OF_VERIFYING,
    *OF_TIME,
    *OF_THE_HTTP_EDITOR,
    *OF_THE_LIMITS,
    *OF_THE_WORKER_RECORD,
    *OF_DEPLOYING,
    *OF_DELIVERIES,
    *OF_THE_INTAKE,
    *OF_A_PROCESS,
    *OF_RESERVATIONS,
)
