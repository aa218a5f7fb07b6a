"""All tasks, in the order of the table."""

from tests.bench.agent_tasks.editing_tasks import EDITING
from tests.bench.agent_tasks.finding_tasks import FINDING
from tests.bench.agent_tasks.moving_tasks import INJECTIONS, MOVING
from tests.bench.agent_tasks.restructure_tasks import RESTRUCTURING
from tests.bench.agent_tasks.scope_tasks import SCOPES

TASKS = (*FINDING, *EDITING, *MOVING, *RESTRUCTURING, *SCOPES, *INJECTIONS)
