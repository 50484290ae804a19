"""The Python client `mcp` against the binary: a call approved, declined and dismissed in the call, and one that waits for a second person."""

import pathlib
import subprocess
import sys
import tempfile

import mcp.types as types
from mcp import Client, StdioServerParameters

from check import main, ok, target, text

ERA, _, COMMAND = target(sys.argv[1:])
TABLES = """
[store]
kind = "sqlite"
path = "store.db"

[policy]
files = ["main.cedar"]
"""
POLICIES = """
@id("all") permit (principal, action, resource);
@id("by-two") forbid (principal, action == Action::"call:invoice_get", resource) unless { context.second_person };
@id("approved") forbid (principal, action == Action::"call:invoice_list", resource) unless { context.approved };
"""


def project(directory):
    """A project in which one tool needs the caller's approval, and another one that of a second person."""
    subprocess.run([COMMAND[0], "init", directory], check=True, capture_output=True)
    path = pathlib.Path(directory)
    config = path / "callgate.toml"
    config.write_text(config.read_text() + TABLES)
    (path / "main.cedar").write_text(POLICIES)
    subprocess.run([COMMAND[0], "migrate", "--config", str(config)], check=True, capture_output=True)
    return str(config)


async def body():
    with tempfile.TemporaryDirectory() as directory:
        config = project(directory)
        asked, action = [], "accept"

        async def elicit(_context, params):
            asked.append(params)
            return types.ElicitResult(action=action, content={} if action == "accept" else None)

        def decide(word, approval):
            command = [COMMAND[0], "approve", "--config", config, word, approval, "--by", "kim"]
            return subprocess.run(command, capture_output=True, text=True)

        server = StdioServerParameters(command=COMMAND[0], args=["--log", "error", "serve", "--config", config])
        mode = "auto" if ERA == "modern" else "legacy"
        async with Client(server, mode=mode, elicitation_callback=elicit) as client:
            arguments = {"status": "open"}
            listed = await client.call_tool("invoice_list", arguments)
            ok(len(asked) == 1 and "List invoices" in asked[0].message, "the caller is asked, and told of what", asked)
            ok('- status: "open"' in asked[0].message, "the question shows the arguments", asked)
            ok(not listed.is_error and listed.structured_content["rows"], "accept runs the call", listed)
            for action in ("decline", "cancel"):
                refused = await client.call_tool("invoice_list", arguments)
                ok(refused.is_error and "approval_denied" in text(refused), f"{action} ends the call", refused)
            ok(len(asked) == 3, "each call was asked about once", asked)

            arguments = {"invoice_reference": "A-2026-00017"}
            waits = await client.call_tool("invoice_get", arguments)
            ok(waits.is_error and "approval_pending" in text(waits), "a second person is waited for", waits)
            ok(len(asked) == 3, "the caller is not asked", asked)
            approval = next(word for word in text(waits).split() if word.count("-") == 4)
            granted = decide("grant", approval)
            ok(granted.returncode == 0, "a second person approves", granted)
            done = await client.call_tool("invoice_get", arguments)
            ok(not done.is_error, "the same call runs", done)
            again = await client.call_tool("invoice_get", arguments)
            ok(again.is_error and "approval_pending" in text(again), "and once only", again)
            approval = next(word for word in text(again).split() if word.count("-") == 4)
            ok(decide("deny", approval).returncode == 0, "a second person refuses", approval)
            denied = await client.call_tool("invoice_get", arguments)
            ok(denied.is_error and "approval_denied" in text(denied), "the same call is refused", denied)


main(body)
