"""Run jobs side by side: one is planned while another runs. Driver."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark import InheritableThread


def run_together(jobs: Sequence[Callable[[], None]]) -> None:
    """Run all jobs and wait for all of them, also when one fails.

    Raises:
        The error of the first job, by their order, that has failed.
    """
    if len(jobs) == 1:
        jobs[0]()
        return
    errors: dict[int, BaseException] = {}

    def run(place: int) -> None:
        try:
            jobs[place]()
        except BaseException as error:  # raised by the thread that waits
            errors[place] = error

    # They take over what the caller's jobs are known by, such as the group to cancel them with.
    threads = [InheritableThread(target=run, args=(place,)) for place in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for place in sorted(errors):
        raise errors[place]
