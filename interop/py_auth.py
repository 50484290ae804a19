"""The Python client `mcp` against a protected server: it finds the authorization server by itself, registers, has the
user consent, calls, and comes back with more scopes after a 403. Then the tokens themselves are changed."""

import os
import sys
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.oauth2 import AuthorizationCodeResult
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

from check import main, ok, target

ERA, URL, _ = target(sys.argv[1:])
REDIRECT = "http://127.0.0.1:9/callback"


class Storage:
    """What the client keeps for its user."""

    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info):
        self.client = client_info


async def browse(start):
    """Follows the browser's way through the authorization server to where it sends the user back."""
    async with httpx2.AsyncClient(follow_redirects=False, trust_env=False) as browser:
        at = httpx2.URL(start)
        for _hop in range(20):
            if str(at).startswith(REDIRECT):
                return parse_qs(urlsplit(str(at)).query)
            response = await browser.get(at)
            at = at.join(response.headers["location"])
    raise RuntimeError("the browser goes in circles")


ISSUER = os.environ["ISSUER"]


async def order(http, **what):
    await http.post(f"{ISSUER}/control", json=what)


async def machine(http, scope):
    """A token of the client that is a machine."""
    form = {"grant_type": "client_credentials", "resource": URL, "scope": scope}
    answer = await http.post(f"{ISSUER}/token", data=form, auth=("machine", "machine-secret"))
    return answer.json()["access_token"]


async def present(http, token, tool="invoice_count"):
    """The answer to a call with a token."""
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {}, "_meta": meta}}
    headers = {
        "authorization": f"Bearer {token}",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": tool,
    }
    answer = await http.post(URL, json=message, headers=headers)
    return answer.status_code, answer.headers.get("www-authenticate", "")


# Requirements: AUTH-RS-09, AUTH-RS-10, AUTH-RS-14, AUTH-RS-15
async def changed_tokens():
    async with httpx2.AsyncClient(trust_env=False, timeout=30) as http:
        good = await machine(http, "mcp")
        ok((await present(http, good))[0] == 200, "a token for this server is accepted")
        await order(http, name="/other")
        status, challenge = await present(http, await machine(http, "mcp"))
        ok(status == 401 and "invalid_token" in challenge, "one of another issuer is not, whoever signed it", challenge)
        await order(http, name="")
        status, challenge = await present(http, await machine(http, "mcp invoices:read"), "invoice_sum")
        ok(status == 403 and 'scope="mcp invoices:read reports:read"' in challenge, "one that lacks a scope is told all", challenge)
        await order(http, keys=["key-2"])
        newest = await machine(http, "mcp")
        for _attempt in range(100):
            if (await present(http, newest))[0] == 200 and (await present(http, good))[0] == 401:
                break
            await anyio.sleep(0.2)
        status, challenge = await present(http, good)
        ok(status == 401 and "invalid_token" in challenge, "a key that was withdrawn is good for nothing any more", challenge)
        ok((await present(http, newest))[0] == 200, "the one in its place is")


# Requirements: AUTH-RS-01
async def body():
    asked = []
    answers = []

    async def redirect(url):
        asked.append(parse_qs(urlsplit(url).query))
        answers.append(await browse(url))

    async def callback():
        answer = answers[-1]
        return AuthorizationCodeResult(code=answer["code"][0], state=answer.get("state", [None])[0], iss=answer.get("iss", [None])[0])

    metadata = OAuthClientMetadata(
        client_name="callgate-interop",
        redirect_uris=[REDIRECT],
        grant_types=["authorization_code"],
        response_types=["code"],
        token_endpoint_auth_method="none",
    )
    provider = OAuthClientProvider(URL, metadata, Storage(), redirect_handler=redirect, callback_handler=callback)
    async with httpx2.AsyncClient(auth=provider, trust_env=False, timeout=30) as http:
        transport = streamable_http_client(URL, http_client=http)
        async with Client(transport, mode="auto" if ERA == "modern" else "legacy") as client:
            ok(len(asked) == 1, "the client asks for consent once", asked)
            ok(asked[0]["resource"] == [URL], "it asks for a token for exactly this server", asked)
            ok(asked[0]["scope"] == ["mcp"], "it asks for the scope that the challenge names", asked)
            tools = await client.list_tools()
            ok(len(tools.tools) == 2, "the tools are listed with the token", tools)
            count = await client.call_tool("invoice_count", {})
            ok(not count.is_error and count.structured_content["rows"][0]["n"] > 0, "a call goes through", count)
            total = await client.call_tool("invoice_sum", {})
            ok(len(asked) == 2, "a 403 leads to consent once more", asked)
            scopes = sorted(asked[1]["scope"][0].split())
            ok(scopes == ["invoices:read", "mcp", "reports:read"], "with all scopes that the call needs at once", scopes)
            row = total.structured_content["rows"][0]
            ok(row["caller"] == "erin", "the call then goes through in the name of the user", total)
    await changed_tokens()


main(body)
