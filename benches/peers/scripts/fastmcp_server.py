"""FastMCP's peer of the benchmark: one echo tool as its documentation shows it.

Started by `load`:  python fastmcp_server.py http 500 | python fastmcp_server.py stdio 1
"""

import socket
import sys
from typing import Annotated

from fastmcp import FastMCP
from pydantic import BaseModel, Field

transport, tools = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
mcp = FastMCP("bench")


class Echo(BaseModel):
    text: str = Field(description="What was sent")


@mcp.tool
async def echo(text: Annotated[str, Field(description="What to send back", max_length=1000)]) -> Echo:
    """Send the text back"""
    return Echo(text=text)


def lookup(
    reference: Annotated[str, Field(description="Reference of the invoice", max_length=40)],
    limit: Annotated[int, Field(description="How many lines to return", ge=1, le=100)],
) -> str:
    """Look up the lines of one invoice by its reference"""
    return f"{reference} {limit}"


for index in range(1, tools):
    mcp.tool(lookup, name=f"lookup_{index:03}")

if transport == "stdio":
    mcp.run(show_banner=False)
else:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    print(f"listening on http://127.0.0.1:{port}/mcp", flush=True)
    mcp.run(
        transport="http",
        host="127.0.0.1",
        port=port,
        stateless_http=True,
        json_response=True,
        show_banner=False,
        log_level="warning",
        uvicorn_config={"access_log": False},
    )
