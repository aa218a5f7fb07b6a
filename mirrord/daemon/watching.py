"""What the watcher tells goes to the mirror whose tree it is of; requests to look go to all."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from mirrord.daemon.worked import Worked
from mirrord.mirror.heartbeat import BOX, requests_in
from mirrord.mirror.layout import MACHINE
from mirrord.mirror.watch import watch
from mirrord.sync.requests import answer


class Watching:
    """
    Watches the directory of all mirrors.

    worked: those at work, by the name of their directory. degraded: gets a sentence while watching is limited.
    """

    def __init__(self, root: Path, worked: Mapping[str, Worked], degraded: dict[str, str], stop: asyncio.Event) -> None:
        self._root = root
        self._worked = worked
        self._degraded = degraded
        self._stop = stop
        self._answers: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Until stop."""
        async for batch in watch(self._root, self._stop, self._report, self._are_told):
            if batch is None:
                for worked in self._worked.values():
                    worked.look_everywhere()
                continue
            self._sort(batch)

    def answer_requests(self) -> None:
        """Of commands that ask the daemon to look, and to say when it has caught up. What cannot be seen now waits."""
        try:
            requests = requests_in(self._root)
        except OSError:  # no descriptor is left, for instance; every beat asks again
            return
        for request in requests:
            task = asyncio.get_running_loop().create_task(answer(request, self._look, self._is_idle, self._stop))
            self._answers.add(task)
            task.add_done_callback(self._answers.discard)

    def _report(self, sentence: str | None) -> None:
        if sentence is None:
            self._degraded.pop("watch", None)
        else:
            self._degraded["watch"] = sentence

    def _are_told(self, batch: set[str]) -> bool:
        return all(map(self._is_told, batch))

    def _is_told(self, path: str) -> bool:
        name, _, rest = path.partition("/")
        worked = self._worked.get(name)
        return worked is None or worked.is_told(rest)

    def _sort(self, batch: set[str]) -> None:
        for path in batch:
            name, _, rest = path.partition("/")
            if name == MACHINE:
                if rest.partition("/")[0] in ("", BOX):  # else it is our own heartbeat
                    self.answer_requests()
            elif (worked := self._worked.get(name)) is not None:
                worked.mark(rest)

    def _look(self, *, thoroughly: bool) -> None:
        for worked in self._worked.values():
            worked.look(thoroughly=thoroughly)

    def _is_idle(self) -> bool:
        return all(worked.idle for worked in self._worked.values())
