"""stdio without a client library, modern era: framing, what must not be written, cancellation, and the end."""

import json
import queue
import subprocess
import sys
import threading
import time

from check import main, ok, target
from wire import META, call, check_codes, parse, request, text

ERA, _URL, COMMAND = target(sys.argv[1:])


class Process:
    """A server as a child, with what it wrote so far."""

    def __init__(self):
        self.child = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.lines = queue.Queue()
        self.methods = {}
        self.seen = []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        stream = self.child.stdout
        rest = b""
        while piece := stream.read(65536):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                self.lines.put(line)
        if rest:
            self.lines.put(rest)
        self.lines.put(None)

    def send(self, message):
        """Writes one message."""
        if "id" in message:
            self.methods[message["id"]] = message["method"]
        self.write(json.dumps(message).encode())

    def write(self, line):
        """Writes one line, whatever it is."""
        self.child.stdin.write(line + b"\n")

    def next(self, seconds=10.0):
        """The next message, or nothing when none comes in time or the server has ended."""
        try:
            line = self.lines.get(timeout=seconds)
        except queue.Empty:
            return None
        if line is None:
            return None
        number = json.loads(line).get("id")
        message = parse(line, self.methods.get(number if isinstance(number, (str, int)) else None))
        self.seen.append(message)
        return message

    def answer(self, message):
        """Sends a request and waits for its response; notifications before it stay in `seen`."""
        self.send(message)
        while (found := self.next()) is not None:
            if found.get("id") == message["id"] and "method" not in found:
                return found
        raise AssertionError(f"no response to {message['method']}")

    def quiet(self, seconds):
        """What comes within a time in which nothing should."""
        end = time.monotonic() + seconds
        found = []
        while (left := end - time.monotonic()) > 0:
            message = self.next(left)
            if message is not None:
                found.append(message)
        return found

    def end(self):
        """Closes the server's input and waits for its end."""
        self.child.stdin.close()
        start = time.monotonic()
        try:
            code = self.child.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            code = None
        return code, time.monotonic() - start


def framing(server):
    # Requirements: STDIO-01, STDIO-02, STDIO-03
    found = server.answer(request("server/discover", 1))
    ok("result" in found, "the first line is an answer", found)
    for line, what in (
        (b"not json", "what is not JSON"),
        (b"\xff\xfe{}", "what is not UTF-8"),
        (b"[]", "a batch"),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"server/discover"}', "a duplicate key"),
        (b"[" * 100_000, "what is nested too deep"),
    ):
        server.write(line)
        answer = server.next()
        ok(answer is not None and answer["error"]["code"] in (-32700, -32600), f"{what} is a JSON-RPC error", answer)
    server.write(b"")
    hard = "line\nbreak \u2028 \u00e4 \U0001f600 \u0000"
    found = server.answer(call("test_simple_text", 2, meta={"example.com/note": hard}))
    ok("result" in found, "the stream goes on after them, with every character", found)
    result = server.answer(call("add", 3, {"a": "x\ny", "b": 2}))["result"]
    ok(result["isError"] and "/a" in text(result), "a wrong argument is a tool error", result)


def notifications(server):
    # Requirements: BASE-25
    server.send({"jsonrpc": "2.0", "method": "notifications/unknown", "params": {}})
    server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "nobody"}})
    server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}})
    ok(server.quiet(0.3) == [], "notifications are not answered", server.seen[-3:])


def cancellation(server):
    # Requirements: STDIO-11, CAN-03
    def count(number):
        return server.answer(call("cancelled_count", number))["result"]["structuredContent"]["count"]

    before = count(10)
    server.send(call("slow", 11, {"ms": 60_000}, meta={"progressToken": "gone"}))
    first = server.next()
    ok(first is not None and first.get("method") == "notifications/progress", "a slow call reports progress", first)
    server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 11}})
    end = time.monotonic() + 5
    number = 12
    while count(number) == before and time.monotonic() < end:
        number += 1
    ok(count(number + 1) == before + 1, "the server sees the cancellation")
    ok(server.quiet(0.4) == [], "nothing more comes for it", server.seen[-3:])
    late = [message for message in server.seen if message.get("id") == 11]
    ok(late == [], "not even a response", late)
    # Requirements: CAN-12
    for step in range(20):
        server.send(call("slow", 100 + step, {"ms": 20}))
        time.sleep(0.015 + step * 0.0005)
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 100 + step}})
    found = server.answer(call("add", 130, {"a": 1, "b": 2}))
    ok(found["result"]["structuredContent"] == {"sum": 3}, "calls that are cancelled while they finish do no harm", found)
    answered = [message["id"] for message in server.seen if isinstance(message.get("id"), int) and 100 <= message["id"] < 130]
    ok(len(set(answered)) == len(answered), "none of them is answered twice", answered)
    cancelled = [message for message in server.seen if message.get("method") == "notifications/cancelled"]
    ok(cancelled == [], "the server cancels nothing itself", cancelled)


def subscriptions(server):
    server.send(request("subscriptions/listen", "sub-1", {"notifications": {"toolsListChanged": True}}))
    first = server.next()
    ok(first is not None and first.get("method") == "notifications/subscriptions/acknowledged", "a subscription is acknowledged", first)
    server.answer(call("test_trigger_tool_change", 200))
    kinds = [message.get("method") for message in server.seen + server.quiet(1.0)]
    ok("notifications/tools/list_changed" in kinds, "a change of the tool list is announced", kinds[-5:])
    ids = {message["params"]["_meta"][META + "subscriptionId"] for message in server.seen
           if message.get("method") == "notifications/tools/list_changed"}
    ok(ids == {"sub-1"}, "the announcement names its subscription", ids)
    server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "sub-1"}})
    server.quiet(0.3)
    server.answer(call("test_trigger_tool_change", 201))
    after = [m for m in server.quiet(0.7) if m.get("method") == "notifications/tools/list_changed"]
    ok(after == [], "a cancelled subscription is silent", after)


def never_a_request(server):
    # Requirements: STDIO-07
    server.answer(call("test_input_required_result_elicitation", 300))
    requests = [message for message in server.seen if "method" in message and "id" in message]
    ok(requests == [], "the server never writes a request", requests)


def the_end():
    server = Process()
    server.answer(request("server/discover", 1))
    server.send(call("slow", 2, {"ms": 300}))
    time.sleep(0.1)
    code, seconds = server.end()
    answers = [message for message in server.quiet(0.2) if message.get("id") == 2]
    ok(code == 0, "the server ends by itself when its input does", (code, seconds))
    ok(len(answers) == 1 and "result" in answers[0], "what was accepted before is answered", answers)
    idle = Process()
    idle.answer(request("server/discover", 1))
    code, seconds = idle.end()
    ok(code == 0 and seconds < 2, "with nothing to do it ends at once", (code, seconds))


async def body():
    ok(ERA == "modern", "this script speaks the modern era only", ERA)
    server = Process()
    try:
        for part in (framing, notifications, cancellation, subscriptions, never_a_request):
            part(server)
    finally:
        server.child.kill()
    the_end()
    check_codes()


main(body)
