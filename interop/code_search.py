"""The Python client `mcp` against `examples/code-search`: searching page by page, reading, and what policy denies."""

import sys

from mcp import Client, StdioServerParameters

from check import main, ok, target, text

ERA, URL, COMMAND = target(sys.argv[1:])


async def body():
    server = URL or StdioServerParameters(command=COMMAND[0], args=COMMAND[1:])
    async with Client(server, mode="auto" if ERA == "modern" else "legacy") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        ok(set(tools) == {"code_search", "code_read"}, "tools/list has the operations", sorted(tools))
        names = tools["code_search"].input_schema["properties"]["project"]["enum"]
        ok(names == ["billing", "website", "payroll"], "the input names the projects", names)

        search = {"project": "billing", "query": "due", "path": "src/**/*.rs"}
        found = await client.call_tool("code_search", search)
        ok(not found.is_error, "a search is answered", found)
        matches = found.structured_content["matches"]
        ok(len(matches) > 3 and matches == sorted(matches, key=lambda match: (match["path"], match["line"])),
           "matches come in the order of path and line", matches)

        first = matches[0]
        line = {"project": "billing", "path": first["path"], "start_line": first["line"], "end_line": first["line"]}
        read = await client.call_tool("code_read", line)
        ok(read.structured_content["text"].rstrip("\n") == first["text"], "the line that was found is read", read)
        ok(read.structured_content["digest"].startswith("sha256:"), "a reading has a digest", read)

        built = await client.call_tool("code_search", {"project": "website", "query": "excluded from the search"})
        ok(built.structured_content["matches"] == [], "what is excluded is not found", built)
        missing = await client.call_tool("code_read", {"project": "website", "path": "nothing.js"})
        hidden = await client.call_tool("code_read", {"project": "website", "path": "generated/site.js"})
        ok(missing.is_error and text(missing) == text(hidden), "excluded and missing get one answer", (missing, hidden))

        denied = await client.call_tool("code_search", {"project": "payroll", "query": "Salaries"})
        ok(denied.is_error and "forbidden" in text(denied), "policy decides about the project", denied)
        unknown = await client.call_tool("code_search", {"project": "nothing", "query": "x"})
        ok(unknown.is_error and "/project" in text(unknown), "an unknown project is a wrong argument", unknown)


main(body)
