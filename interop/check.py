"""What every Python client script shares: its arguments, one line for each assertion, an end at the first failure."""

import asyncio
import json
import sys
import traceback


class Failed(Exception):
    """An assertion did not hold; it was printed already."""


def target(argv):
    """Reads `ERA (--url URL | COMMAND ARGS..)` into the era, the URL or nothing, and the command."""
    if len(argv) < 2 or argv[0] not in ("modern", "legacy"):
        print("usage: SCRIPT modern|legacy (--url URL | COMMAND [ARGUMENT..])", file=sys.stderr)
        sys.exit(2)
    if argv[1] == "--url":
        return argv[0], argv[2], []
    return argv[0], None, argv[1:]


def ok(holds, assertion, got=None):
    """Prints the assertion, and leaves the script if it does not hold."""
    if holds:
        print(f"ok - {assertion}", flush=True)
        return
    print(f"not ok - {assertion}", flush=True)
    print(f"    got {got!r}", flush=True)
    raise Failed(assertion)


def text(result):
    """The text blocks of a tool result."""
    return "\n".join(getattr(block, "text", "") for block in result.content)


def holds_sum(result):
    """Whether the text of a result repeats the structured output, as a client without schemas needs it."""
    try:
        return json.loads(text(result)) == {"sum": 3}
    except ValueError:
        return False


async def until(probe, seconds=5.0):
    """Waits until `probe` gives something true."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while True:
        found = await probe()
        if found or loop.time() > end:
            return found
        await asyncio.sleep(0.05)


def failed_assertion(error):
    """Finds a failed assertion inside the groups that task groups wrap exceptions into."""
    if isinstance(error, BaseExceptionGroup):
        return any(failed_assertion(inner) for inner in error.exceptions)
    return isinstance(error, Failed)


def main(body):
    """Runs a script; whatever it raises is a failed assertion too."""
    try:
        asyncio.run(body())
    except BaseException as error:
        if not failed_assertion(error):
            print("not ok - the script runs to its end", flush=True)
            traceback.print_exc(file=sys.stdout)
        sys.exit(1)
