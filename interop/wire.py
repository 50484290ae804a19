"""Messages as they go over the wire, without any client library: what a library would hide or refuse to send.

Every message of the server is read strictly here: UTF-8, one JSON object, no duplicate keys, and, where the revision's
schema is at hand, valid by it. `wire_http.py` and `wire_stdio.py` use it.
"""

import http.client
import json
import pathlib
import socket
import threading
import time
import urllib.parse

from jsonschema import Draft202012Validator

from check import ok

VERSION = "2026-07-28"
META = "io.modelcontextprotocol/"

# All that a server of this revision may answer with; its own codes lie above the reserved range.
ERRORS = {-32700, -32600, -32601, -32602, -32603, -32020, -32021, -32022}

RESULTS = {
    "server/discover": "DiscoverResult",
    "tools/list": "ListToolsResult",
    "tools/call": "CallToolResult",
    "prompts/list": "ListPromptsResult",
    "resources/list": "ListResourcesResult",
    "resources/templates/list": "ListResourceTemplatesResult",
    "resources/read": "ReadResourceResult",
    "subscriptions/listen": "SubscriptionsListenResult",
}


def read_schema():
    """The schema of the revision, wherever the repository keeps it."""
    root = pathlib.Path(__file__).resolve().parent.parent / "vectors"
    found = sorted(root.glob(f"**/{VERSION}/schema.json"))
    return json.loads(found[0].read_text()) if found else None


SCHEMA = read_schema()
CODES = set()
SEEN = {"messages": 0}


def unique(pairs):
    """Refuses an object that names a key twice."""
    keys = [key for key, _value in pairs]
    assert len(set(keys)) == len(keys), f"duplicate keys: {keys}"
    return dict(pairs)


def parse(raw, method=None):
    """Reads one message strictly."""
    message = json.loads(raw.decode("utf-8", errors="strict"), object_pairs_hook=unique)
    assert isinstance(message, dict) and message.get("jsonrpc") == "2.0", f"no JSON-RPC message: {raw[:200]!r}"
    SEEN["messages"] += 1
    if "error" in message:
        assert isinstance(message["error"]["code"], int), message
        CODES.add(message["error"]["code"])
    if SCHEMA is not None:
        validate(message, method)
    return message


def validate(message, method):
    """Holds a message against the revision's schema."""
    if "error" in message:
        name, part = "JSONRPCErrorResponse", message
    elif "method" in message:
        name, part = "ServerNotification", message
    elif message["result"].get("resultType") == "input_required":
        name, part = "InputRequiredResult", message["result"]
    else:
        name, part = RESULTS.get(method, "Result"), message["result"]
    validator = Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]})
    faults = [f"{list(fault.path)}: {fault.message}" for fault in validator.iter_errors(part)]
    assert not faults, f"{name} is not valid: {faults[:3]} in {json.dumps(message)[:300]}"


def request(method, number, params=None, capabilities=None, meta=None):
    """A request with the metadata of this revision."""
    own = {
        META + "protocolVersion": VERSION,
        META + "clientCapabilities": capabilities if capabilities is not None else {"elicitation": {"form": {}}},
        META + "clientInfo": {"name": "callgate-wire", "version": "1"},
    }
    own.update(meta or {})
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": {"_meta": own, **(params or {})}}


def call(tool, number, arguments=None, **more):
    """A request to call a tool."""
    params = {"name": tool, "arguments": arguments or {}}
    params.update(more.pop("params", {}))
    return request("tools/call", number, params, **more)


def headers(message):
    """The headers that mirror a message."""
    mirrored = {"MCP-Protocol-Version": VERSION, "Mcp-Method": message["method"]}
    params = message.get("params", {})
    name = params.get("name", params.get("uri"))
    if name is not None and message["method"] in ("tools/call", "prompts/get", "resources/read"):
        mirrored["Mcp-Name"] = name
    return mirrored


class Http:
    """An endpoint; each request has a connection of its own."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.host, self.port, self.path = parts.hostname, parts.port, parts.path

    def raw(self, verb, body=None, extra=None):
        """Sends what it is given and answers status, headers and body."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=20)
        connection.request(verb, self.path, body=body, headers=extra or {})
        answer = connection.getresponse()
        found = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        connection.close()
        return found

    def post(self, message, drop=(), **extra):
        """Posts a message with the headers that belong to it, except those dropped or replaced."""
        sent = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **(headers(message) if "method" in message else {}),
        }
        sent.update({name.replace("_", "-"): value for name, value in extra.items()})
        for name in drop:
            sent.pop(name)
        return self.raw("POST", json.dumps(message).encode(), sent)

    def ask(self, message, **extra):
        """Posts a request and answers status and all messages that came back."""
        status, found, body = self.post(message, **extra)
        if found.get("content-type", "").startswith("text/event-stream"):
            return status, [parse(event, message["method"]) for event in events(body)]
        assert found.get("content-type", "").startswith("application/json"), (status, found, body[:200])
        return status, [parse(body, message["method"])]

    def result(self, message):
        """The result of a request that has to succeed."""
        status, messages = self.ask(message)
        assert status == 200 and "result" in messages[-1], (status, messages)
        return messages[-1]["result"]

    def open(self, message):
        """Opens a stream and leaves it open."""
        return Stream(self, message)


def events(body):
    """The data of each event; comments and empty events carry none."""
    for block in body.replace(b"\r\n", b"\n").split(b"\n\n"):
        data = [line[5:].removeprefix(b" ") for line in block.split(b"\n") if line.startswith(b"data:")]
        if any(data):
            yield b"\n".join(data)


class Stream:
    """An answer that is read while it comes, and that can be cut off."""

    def __init__(self, endpoint, message):
        self.method = message["method"]
        self.messages = []
        self.ended = threading.Event()
        self.connection = http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=60)
        sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers(message)}
        self.connection.request("POST", endpoint.path, body=json.dumps(message).encode(), headers=sent)
        self.socket = self.connection.sock
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        try:
            answer = self.connection.getresponse()
            block = b""
            while line := answer.readline():
                block += line
                if line in (b"\n", b"\r\n"):
                    self.messages += [parse(event, self.method) for event in events(block)]
                    block = b""
            if block:
                self.messages += [parse(event, self.method) for event in events(block)]
        except (OSError, ValueError, http.client.HTTPException, AttributeError):
            pass
        finally:
            self.ended.set()

    def wait(self, holds, seconds=5.0):
        """Waits until the messages so far satisfy `holds`."""
        return wait(lambda: holds(self.messages), seconds)

    def cut(self):
        """Closes the connection without reading on."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.connection.close()


def wait(holds, seconds=5.0):
    """Waits until `holds` gives something true."""
    end = time.monotonic() + seconds
    while True:
        found = holds()
        if found or time.monotonic() > end:
            return found
        time.sleep(0.02)


def text(result):
    """The text blocks of a tool result."""
    return "\n".join(block.get("text", "") for block in result["content"])


def check_codes():
    """Closes a run: what was seen on the way."""
    # Requirements: BASE-16, BASE-19, BASE-22
    strange = {code for code in CODES if -32768 <= code <= -32000 and code not in ERRORS}
    ok(not strange, "no error code is used that the revision does not define", sorted(strange))
    ok(SCHEMA is not None, f"each of the {SEEN['messages']} messages is valid by the revision's schema")
