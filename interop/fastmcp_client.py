"""FastMCP's client against a conformance example: everything that the fixture contract in README.md names."""

import sys

import anyio
from fastmcp import Client
from fastmcp.client.messages import MessageHandler
from fastmcp.client.transports import StdioTransport
from mcp.client.subscriptions import listen

from check import holds_sum, main, ok, target, text, until

ERA, URL, COMMAND = target(sys.argv[1:])
MODERN = ERA == "modern"


class Changes(MessageHandler):
    """Counts announcements of a changed tool list."""

    def __init__(self):
        self.count = 0

    async def on_tool_list_changed(self, message):
        self.count += 1


async def body():
    asked = []
    changes = Changes()

    async def elicit(message, _response_type, params, _context):
        asked.append(message)
        return {name: "Dana" for name in params.requested_schema.get("properties", {})}

    server = URL or StdioTransport(command=COMMAND[0], args=COMMAND[1:])
    mode = "auto" if MODERN else "legacy"
    async with Client(server, mode=mode, elicitation_handler=elicit, message_handler=changes) as client:
        version = client.session.protocol_version
        if MODERN:
            ok(version == "2026-07-28", "server/discover leads to 2026-07-28", version)
        else:
            ok(version < "2026", "initialize negotiates a legacy revision", version)

        first = await client.list_tools_mcp()
        ok(first.next_cursor is not None, "tools/list has more than one page", first)
        names = [tool.name for tool in await client.list_tools()]
        ok(len(names) > len(first.tools), "the client walks the pages", names)
        ok(len(set(names)) == len(names), "no tool stands on two pages", names)
        for name in ("test_simple_text", "add", "slow", "cancelled_count"):
            ok(name in names, f"tools/list has {name}", names)

        simple = await client.call_tool("test_simple_text", raise_on_error=False)
        ok(not simple.is_error and text(simple), "a call without arguments answers text", simple)

        result = await client.call_tool("add", {"a": 1, "b": 2})
        ok(result.structured_content == {"sum": 3}, "a call answers structured output", result)
        ok(result.data.sum == 3, "the output schema makes a typed value", result.data)
        ok(holds_sum(result), "structured output stands in the text too", result)

        invalid = await client.call_tool("add", {"a": "one", "b": 2}, raise_on_error=False)
        ok(invalid.is_error, "a wrong argument is a tool error", invalid)
        ok("/a" in text(invalid), "the error names the pointer of the argument", invalid)

        if MODERN:
            elicited = await client.call_tool("test_input_required_result_elicitation", {})
        else:
            elicited = await client.call_tool("test_elicitation", {"message": "Who are you?"})
        ok(len(asked) == 1, "an elicitation reaches the client", elicited)
        ok("Dana" in text(elicited), "its answer reaches the tool", elicited)

        progress = []

        async def on_progress(value, _total, _message):
            progress.append(value)

        await client.call_tool("slow", {"ms": 400}, progress_handler=on_progress)
        ok(len(progress) >= 3, "progress arrives while it runs", progress)
        ok(progress == sorted(set(progress)), "progress increases", progress)

        async def count():
            return (await client.call_tool("cancelled_count", {})).structured_content["count"]

        before = await count()
        with anyio.move_on_after(0.5) as scope:
            await client.call_tool("slow", {"ms": 60000})
        ok(scope.cancelled_caught, "a cancelled call gives no result")

        async def seen():
            return await count() > before

        ok(await until(seen), "the server sees the cancellation", before)

        if MODERN:
            async with listen(client.session, tools_list_changed=True) as subscription:
                ok(subscription.honored.tools_list_changed, "subscriptions/listen is acknowledged", subscription.honored)
                await client.call_tool("test_trigger_tool_change", {})
                event = None
                with anyio.move_on_after(5):
                    event = await anext(aiter(subscription))
                ok(type(event).__name__ == "ToolsListChanged", "a change of the tool list is announced", event)
        else:
            await client.call_tool("test_trigger_tool_change", {})

            async def announced():
                return changes.count > 0

            ok(await until(announced), "a change of the tool list is announced", changes.count)


main(body)
