"""The Python client `mcp` against a conformance example: everything that the fixture contract in README.md names."""

import sys

import anyio
import mcp_types as types
from mcp import Client, StdioServerParameters

from check import holds_sum, main, ok, target, text, until

ERA, URL, COMMAND = target(sys.argv[1:])
MODERN = ERA == "modern"


async def body():
    asked = []
    changes = []

    async def elicit(_context, params):
        asked.append(params.message)
        names = params.requested_schema.get("properties", {})
        return types.ElicitResult(action="accept", content={name: "Dana" for name in names})

    async def message(received):
        if isinstance(received, types.ToolListChangedNotification):
            changes.append(received)

    server = URL or StdioServerParameters(command=COMMAND[0], args=COMMAND[1:])
    mode = "auto" if MODERN else "legacy"
    async with Client(server, mode=mode, elicitation_callback=elicit, message_handler=message) as client:
        if MODERN:
            ok(client.protocol_version == "2026-07-28", "server/discover leads to 2026-07-28", client.protocol_version)
        else:
            ok(client.protocol_version < "2026", "initialize negotiates a legacy revision", client.protocol_version)
            ok(bool(client.server_info.name), "initialize names the server", client.server_info)
        ok(client.server_capabilities.tools is not None, "the server declares tools", client.server_capabilities)

        names, cursor, pages = [], None, 0
        while pages == 0 or (cursor is not None and pages < 100):
            page = await client.list_tools(cursor=cursor)
            names += [tool.name for tool in page.tools]
            cursor, pages = page.next_cursor, pages + 1
        ok(pages > 1, "tools/list has more than one page", pages)
        ok(len(set(names)) == len(names), "no tool stands on two pages", names)
        for name in ("test_simple_text", "add", "slow", "cancelled_count"):
            ok(name in names, f"tools/list has {name}", names)

        simple = await client.call_tool("test_simple_text")
        ok(not simple.is_error and text(simple), "a call without arguments answers text", simple)

        result = await client.call_tool("add", {"a": 1, "b": 2})
        ok(result.structured_content == {"sum": 3}, "a call answers structured output", result)
        ok(holds_sum(result), "structured output stands in the text too", result)

        invalid = await client.call_tool("add", {"a": "one", "b": 2})
        ok(invalid.is_error, "a wrong argument is a tool error", invalid)
        ok("/a" in text(invalid), "the error names the pointer of the argument", invalid)

        if MODERN:
            elicited = await client.call_tool("test_input_required_result_elicitation", {})
        else:
            elicited = await client.call_tool("test_elicitation", {"message": "Who are you?"})
        ok(len(asked) == 1, "an elicitation reaches the client", elicited)
        ok(not elicited.is_error and "Dana" in text(elicited), "its answer reaches the tool", elicited)

        progress = []

        async def on_progress(value, _total, _message):
            progress.append(value)

        slow = await client.call_tool("slow", {"ms": 400}, progress_callback=on_progress)
        ok(not slow.is_error, "a slow call ends", slow)
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
            async with client.listen(tools_list_changed=True) as subscription:
                ok(subscription.honored.tools_list_changed, "subscriptions/listen is acknowledged", subscription.honored)
                await client.call_tool("test_trigger_tool_change", {})
                event = None
                with anyio.move_on_after(5):
                    event = await anext(aiter(subscription))
                ok(type(event).__name__ == "ToolsListChanged", "a change of the tool list is announced", event)
        else:
            await client.call_tool("test_trigger_tool_change", {})

            async def announced():
                return bool(changes)

            ok(await until(announced), "a change of the tool list is announced", changes)


main(body)
