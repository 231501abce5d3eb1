"""Tasks with real contact, and the operators who do them by eyes and hand."""

from farhand.tasks.catalogue import ARMS, TASKS, make_task
from farhand.tasks.operator import NOBODY, Operator, Person, make_person, named
from farhand.tasks.task import Phase, Task, View
from farhand.tasks.trial import Trial

__all__ = [
    "ARMS",
    "NOBODY",
    "TASKS",
    "Operator",
    "Person",
    "Phase",
    "Task",
    "Trial",
    "View",
    "make_person",
    "make_task",
    "named",
]
