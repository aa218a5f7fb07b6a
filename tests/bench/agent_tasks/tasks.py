"""All tasks, in the order of the table."""

from tests.bench.agent_tasks.editing_tasks import EDITING
from tests.bench.agent_tasks.finding_tasks import FINDING
from tests.bench.agent_tasks.moving_tasks import INJECTIONS, MOVING

TASKS = (*FINDING, *EDITING, *MOVING, *INJECTIONS)
