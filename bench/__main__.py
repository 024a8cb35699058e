"""`python -m bench workload=treelstm`: compose the cells, measure what is not finished, print the table."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import uuid
from collections.abc import Sequence
from types import FrameType

from bench import description, usage
from bench.status import Exit
from bench.suggest import malformed, refusal


class Terminated(KeyboardInterrupt):
    """Raised on SIGTERM, and handled like an interruption from the keyboard, but with the exit code of SIGTERM."""


def main() -> None:
    arguments = sys.argv[1:]
    if usage.asks_for_help(arguments):
        print(usage.text())
        return
    reason = refusal(arguments)
    if reason is not None:
        print(f"error: {reason}", file=sys.stderr)
        sys.exit(Exit.CONFIG)
    description.start()
    import hydra  # takes longer than all of the above

    sys.argv[1:] = arguments = in_order(arguments)
    reason = malformed(arguments)
    if reason is not None:
        print(f"error: {reason}", file=sys.stderr)
        sys.exit(Exit.CONFIG)

    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    from bench import job
    from bench.compose import CONFIG, register
    from bench.registry import CONF

    looking = asked_only(arguments)
    os.environ[job.SWEEP] = f"{uuid.uuid4().hex[:12]}:{os.getpid()}"
    register()
    signal.signal(signal.SIGTERM, _terminate)
    sweep = job.SWEEPING
    in_full = os.environ.get("HYDRA_FULL_ERROR") == "1"
    os.environ["HYDRA_FULL_ERROR"] = "1"  # so that Hydra raises its errors, which are told here in one line
    try:
        hydra.main(version_base=None, config_path=str(CONF), config_name=CONFIG)(job.job)()
    except SystemExit as ended:  # Hydra itself has refused the command line and said why
        if ended.code and not sweep.campaign.rows:
            sys.exit(Exit.CONFIG)
        raise
    except (HydraException, OmegaConfBaseException, OSError) as error:
        if in_full:
            raise
        print(f"error: {refusal_of(error)}", file=sys.stderr)
        sys.exit(Exit.CRASHED if sweep.campaign.rows else Exit.CONFIG)
    except KeyboardInterrupt as interrupt:
        print(f"interrupted: {sweep.campaign.summary()}; the same command goes on from here", file=sys.stderr)
        sys.exit(128 + (signal.SIGTERM if isinstance(interrupt, Terminated) else signal.SIGINT))
    if looking:
        return
    if sweep.campaign.rows or not sweep.refused:
        print(sweep.campaign.summary(), file=sys.stderr)
    sys.exit(Exit.CRASHED if sweep.crashed else Exit.CONFIG if sweep.refused else sweep.campaign.exit())


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated


def refusal_of(error: Exception) -> str:
    """Why Hydra has refused something, in one line. An OSError that Hydra did not raise itself concerns the folder that it
    makes for each sweep."""
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    if not isinstance(error, HydraException | OmegaConfBaseException):
        return f"the folder for logs of a sweep cannot be made (results_dir, or hydra.sweep.dir): {error}"
    texts = [error] if error.__cause__ is None else [error, error.__cause__]
    lines = [line.strip() for text in texts for line in str(text).partition("Config search path:")[0].splitlines()]
    return "; ".join(
        line for line in lines if line and not line.startswith(("To append", "full_key", "object_type", "reference_type"))
    )


def in_order(arguments: Sequence[str]) -> list[str]:
    """The arguments with all OPTION=VALUE moved to the end, if Hydra would not find some of them between its own options, such
    as the last one of `seed=1,2 -m size=tiny`."""
    from hydra._internal.utils import get_args_parser

    try:
        with contextlib.redirect_stderr(io.StringIO()):
            unknown = get_args_parser().parse_known_args(list(arguments))[1]
    except SystemExit:
        return list(arguments)
    if not any("=" in each and not each.startswith("-") for each in unknown):
        return list(arguments)
    return sorted(arguments, key=lambda each: "=" in each and not each.startswith("-"))


def asked_only(arguments: Sequence[str]) -> bool:
    """Whether the command only shows something (`--cfg job`, `-cjob`, `--info`) or completes a line of the shell, and measures
    nothing. Hydra's own parser reads the arguments, because it knows every spelling of these options."""
    from hydra._internal.utils import get_args_parser

    try:
        with contextlib.redirect_stderr(io.StringIO()):
            parsed = get_args_parser().parse_known_args(list(arguments))[0]
    except SystemExit:  # Hydra refuses the arguments again when it runs, and then says why
        return False
    return bool(parsed.cfg or parsed.help or parsed.hydra_help or parsed.info or parsed.shell_completion)


if __name__ == "__main__":
    main()
