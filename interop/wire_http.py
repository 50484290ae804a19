"""Streamable HTTP without a client library: headers, statuses, streams and what cutting them off means.

In the legacy era only what no client shows is looked at: sessions and their end.
"""

import base64
import json
import sys
import time

from check import main, ok, target
from wire import META, VERSION, Http, call, check_codes, events, request, text, wait

ERA, URL, _COMMAND = target(sys.argv[1:])
SERVER = Http(URL)


def discovery():
    # Requirements: DISC-02, CACHE-01
    found = SERVER.result(request("server/discover", 1))
    ok(VERSION in found["supportedVersions"] and isinstance(found["capabilities"], dict), "server/discover describes", found)
    hints = isinstance(found.get("ttlMs"), int) and found["ttlMs"] >= 0 and found.get("cacheScope") in ("public", "private")
    ok(hints and found["resultType"] == "complete", "server/discover says how long it may be kept", found)


def origins():
    # Requirements: HTTP-02, HTTP-03
    message = request("server/discover", 2)
    for origin in ("http://evil.example", "null", "http://localhost.evil.example", "https://127.0.0.1.evil.example"):
        status, _headers, _body = SERVER.post(message, Origin=origin)
        ok(status == 403, f"the origin {origin} is refused with 403", status)
    status, _headers, _body = SERVER.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
                                          Origin="http://evil.example")
    ok(status == 403, "it is refused for a notification too", status)
    for verb in ("GET", "DELETE", "OPTIONS"):
        status, _headers, _body = SERVER.raw(verb, extra={"Origin": "http://evil.example"})
        ok(400 <= status < 500, f"it is refused for {verb} too", status)
    own = f"http://{SERVER.host}:{SERVER.port}"
    status, _headers, _body = SERVER.post(message, Origin=own)
    ok(status == 200, "the server's own origin is accepted", status)
    status, _headers, _body = SERVER.post(message, Host="evil.example")
    ok(400 <= status < 500, "a foreign host is refused without any origin", status)


def notifications():
    # Requirements: HTTP-11, HTTP-12, BASE-25
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "nobody", "_meta": {META + "protocolVersion": VERSION}}}
    status, _headers, body = SERVER.post(note)
    ok(status == 202 and body == b"", "a notification is accepted with 202 and no body", (status, body))
    status, _headers, _body = SERVER.post(note, Mcp_Method="tools/list")
    ok(400 <= status < 500, "a notification whose header differs is refused with an error status", status)


def mirrored_headers():
    # Requirements: HTTP-31, HTTP-37, HTTP-40
    message = call("add", 3, {"a": 1, "b": 2})
    for name in ("MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"):
        status, answers = SERVER.ask(message, drop=[name])
        ok(status == 400 and answers[-1]["error"]["code"] == -32020, f"{name} must be there", (status, answers))
    encoded = "=?base64?" + base64.b64encode(b"add").decode() + "?="
    status, answers = SERVER.ask(message, Mcp_Name=encoded)
    ok(status == 200 and "result" in answers[-1], "Mcp-Name may come as Base64", (status, answers))
    other = "=?base64?" + base64.b64encode(b"slow").decode() + "?="
    status, answers = SERVER.ask(message, Mcp_Name=other)
    ok(status == 400 and answers[-1]["error"]["code"] == -32020, "then it is compared decoded", (status, answers))


def malformed():
    # Requirements: TRN-01
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    for body, what in (
        (b"not json", "what is not JSON"),
        (b"\xff\xfe{}", "what is not UTF-8"),
        (b"[]", "a batch"),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"server/discover"}', "a duplicate key"),
        (b"[" * 100_000, "what is nested too deep"),
        (b"", "nothing"),
    ):
        status, found, answer = SERVER.raw("POST", body, sent)
        code = json.loads(answer)["error"]["code"] if answer[:1] == b"{" else None
        fits = status == 400 and code in (-32700, -32600)
        ok(fits and found["content-type"].startswith("application/json"), f"{what} is a JSON-RPC error", (status, answer[:200]))


def pages():
    # Requirements: CACHE-16, TOOL-04, RES-03
    for method, key in (("tools/list", "tools"), ("resources/list", "resources"), ("prompts/list", "prompts")):
        runs = []
        for _run in range(2):
            entries, scopes, cursor, number = [], set(), None, 10
            while cursor is not None or number == 10:
                page = SERVER.result(request(method, number, {"cursor": cursor} if cursor else {}))
                entries += page[key]
                scopes.add(page["cacheScope"])
                cursor, number = page.get("nextCursor"), number + 1
                assert number < 200, "the pages never end"
            runs.append(entries)
            ok(len(scopes) == 1, f"all pages of {method} have one cache scope", scopes)
            # What another connection does must not show.
            SERVER.result(call("test_simple_text", 9))
        ok(runs[0] == runs[1], f"{method} is the same over two connections", (len(runs[0]), len(runs[1])))
    status, answers = SERVER.ask(request("tools/list", 11, {"cursor": "no such cursor"}))
    ok(answers[-1].get("error", {}).get("code") == -32602, "a cursor that was never given is refused", (status, answers))


def inputs():
    # Requirements: TOOL-25
    for arguments in ({}, {"a": 1}, {"a": 1, "b": "2"}, {"a": 1.5, "b": 2}, {"a": None, "b": 2}, {"a": 1, "b": 2, "c": 3}):
        result = SERVER.result(call("add", 20, arguments))
        ok(result.get("isError") is True, f"{json.dumps(arguments)} is no input of add", result)
    both = text(SERVER.result(call("add", 21, {"a": "x", "b": "y"})))
    ok("/a" in both and "/b" in both, "all wrong arguments are named at once", both)
    status, answers = SERVER.ask(call("no_such_tool", 22))
    ok(answers[-1].get("error", {}).get("code") == -32602, "an unknown tool is a JSON-RPC error", (status, answers))
    big = 9007199254740993
    result = SERVER.result(call("add", 23, {"a": big, "b": 0}))
    ok(result.get("structuredContent", {}).get("sum") == big, "digits are not rounded beyond 2^53", result)


def extensions():
    # Requirements: VER-05
    known = {"elicitation": {"form": {}}, "extensions": {"com.example/unheard-of": {"level": 3}}}
    result = SERVER.result(call("add", 25, {"a": 1, "b": 2}, capabilities=known))
    ok(result["structuredContent"] == {"sum": 3}, "an extension that the server does not have changes nothing", result)
    status, answers = SERVER.ask(request("tasks/get", 26, {"taskId": "1"}, capabilities=known))
    ok(status == 404 and answers[-1]["error"]["code"] == -32601, "a method of an extension is not found", (status, answers))


def cancelled_count():
    return SERVER.result(call("cancelled_count", 30))["structuredContent"]["count"]


def cancellation():
    # Requirements: CAN-04, HTTP-22, HTTP-24
    before = cancelled_count()
    stream = SERVER.open(call("slow", 31, {"ms": 60_000}, meta={"progressToken": "cut"}))
    ok(stream.wait(len), "a slow call streams progress", stream.messages)
    stream.cut()
    ok(wait(lambda: cancelled_count() > before), "closing the stream cancels the call")
    # Requirements: CAN-12
    for step in range(20):
        stream = SERVER.open(call("slow", 32 + step, {"ms": 50}))
        time.sleep(0.04 + step * 0.001)
        stream.cut()
    ok(SERVER.result(call("add", 60, {"a": 1, "b": 2}))["structuredContent"] == {"sum": 3},
       "calls that are cut off while they finish do no harm")


def progress():
    # Requirements: PROG-03, PROG-06
    _status, messages = SERVER.ask(call("slow", 70, {"ms": 400}, meta={"progressToken": "p-1"}))
    values = [message["params"]["progress"] for message in messages[:-1]]
    tokens = {message["params"]["progressToken"] for message in messages[:-1]}
    ok(len(values) >= 3 and all(a < b for a, b in zip(values, values[1:])), "progress strictly increases", values)
    ok(tokens == {"p-1"} and "result" in messages[-1], "nothing follows the result on its stream", messages[-2:])
    _status, messages = SERVER.ask(call("slow", 71, {"ms": 120}))
    ok(len(messages) == 1, "without a token there is no progress", messages)


def rounds():
    # Requirements: MRTR-07, ELIC-09, ELIC-20
    asked = SERVER.result(call("test_input_required_result_elicitation", 80))
    ok(asked["resultType"] == "input_required", "a tool asks for input", asked)
    ok("ttlMs" not in asked, "a question is not to be kept in a cache", asked)
    again = SERVER.result(call("test_input_required_result_elicitation", 81))
    ok(again["resultType"] == "input_required", "a question nobody answers does not hold up the next call", again)
    for capabilities, what in (({}, "no elicitation"), ({"elicitation": {"url": {}}}, "no form mode")):
        _status, answers = SERVER.ask(call("test_input_required_result_elicitation", 82, capabilities=capabilities))
        ok(answers[-1].get("error", {}).get("code") == -32021, f"a client with {what} is not asked by form", answers)
    for action in ("decline", "cancel"):
        params = {"inputResponses": {"user_name": {"action": action}}}
        if "requestState" in asked:
            params["requestState"] = SERVER.result(call("test_input_required_result_elicitation", 83))["requestState"]
        _status, answers = SERVER.ask(call("test_input_required_result_elicitation", 84, params=params))
        ended = answers[-1].get("result", {}).get("resultType") == "complete"
        ok(ended, f"a tool whose question meets {action} comes to an end", answers)


def logging():
    # Requirements: LOG-01, LOG-03
    listening = SERVER.open(request("subscriptions/listen", "listen-1", {"notifications": {"toolsListChanged": True}}))
    ok(listening.wait(len), "a subscription is acknowledged", listening.messages)
    ok(listening.messages[0]["method"] == "notifications/subscriptions/acknowledged", "before all else", listening.messages)
    _status, messages = SERVER.ask(call("test_logging_tool", 90, meta={META + "logLevel": "debug"}))
    logs = [message for message in messages if message.get("method") == "notifications/message"]
    ok(logs, "a tool's log messages come with its answer", messages)
    ok("logging" in SERVER.result(request("server/discover", 91))["capabilities"], "logging is declared")
    SERVER.result(call("test_trigger_tool_change", 92))
    changed = listening.wait(lambda seen: any(m["method"] == "notifications/tools/list_changed" for m in seen))
    ok(changed, "a change of the tool list reaches the subscription", listening.messages)
    kinds = {message["method"] for message in listening.messages[1:]}
    ok(kinds == {"notifications/tools/list_changed"}, "nothing else does", kinds)
    ids = {message["params"]["_meta"][META + "subscriptionId"] for message in listening.messages}
    ok(ids == {"listen-1"}, "each message names its subscription", ids)
    listening.cut()


def sessions():
    # Requirements: LEG-02
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "callgate-wire", "version": "1"}}

    def post(message, extra=None):
        return SERVER.raw("POST", json.dumps(message).encode(), {**sent, **(extra or {})})

    def message(method, number=None, params=None):
        found = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        return found if number is None else {**found, "id": number}

    status, found, answer = post(message("initialize", 1, opening))
    session = found.get("mcp-session-id", "")
    ok(status == 200 and session and all(0x21 <= ord(c) <= 0x7E for c in session), "initialize opens a session", (status, found))
    own = {"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"}
    status, _headers, answer = post(message("notifications/initialized"), own)
    ok(status == 202 and answer == b"", "notifications/initialized is accepted", (status, answer))
    status, _headers, answer = post(message("tools/list", 2), own)
    ok(status == 200 and b"test_simple_text" in answer + whole_list(post, message, own), "the session lists tools", (status, answer[:200]))
    status, _headers, _answer = post(message("tools/list", 3), {"MCP-Protocol-Version": "2025-11-25"})
    ok(status == 400, "a request of no session is refused with 400", status)
    status, _headers, _answer = post(message("tools/list", 4), {**own, "Mcp-Session-Id": "nobody"})
    ok(status == 404, "an unknown session is not found", status)
    status, _headers, _answer = post(message("tools/list", 5), {**own, "MCP-Protocol-Version": "1999-01-01"})
    ok(status == 400, "a version that is not served is refused with 400", status)
    status, _headers, _answer = SERVER.raw("DELETE", extra=own)
    ok(status in (200, 204), "DELETE ends the session", status)
    status, _headers, _answer = post(message("tools/list", 6), own)
    ok(status == 404, "afterwards it is not found", status)
    status, _headers, _answer = SERVER.raw("DELETE", extra=own)
    ok(status == 404, "it cannot be ended twice", status)


def whole_list(post, message, own):
    """The other pages, since the one tool that is looked for may stand on any."""
    found, cursor, number = b"", None, 50
    while cursor is not None or number == 50:
        _status, _headers, answer = post(message("tools/list", number, {"cursor": cursor} if cursor else {}), own)
        found += answer
        page = json.loads(answer if answer[:1] == b"{" else next(events(answer)))
        cursor, number = page["result"].get("nextCursor"), number + 1
    return found


async def body():
    if ERA == "legacy":
        sessions()
        return
    for part in (discovery, origins, notifications, mirrored_headers, malformed, pages, inputs, extensions, cancellation,
                 progress, rounds, logging, check_codes):
        part()


main(body)
