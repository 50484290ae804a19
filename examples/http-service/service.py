"""A small help desk over HTTP, for this example and its test. It misbehaves on demand: tickets T-90 to T-99 each do
something that a service should not. It prints the port that it listens on."""

import gzip
import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

TICKETS = {
    "acme": [
        {"id": "T-3", "subject": "Printer on fire", "text": "It burns.", "state": "open", "amount": 9007199254740993},
        {"id": "T-2", "subject": "Invoice missing", "text": "Where is it?", "state": "open", "amount": 1250},
        {"id": "T-1", "subject": "Login", "text": "I cannot log in.", "state": "closed", "amount": 0},
        {"id": "T-4", "subject": "Old", "text": "Done.", "state": "open", "amount": 1},
    ],
    "other": [{"id": "T-9", "subject": "Not yours", "text": "Not yours.", "state": "open", "amount": 1}],
}
CREATED = {}
LOCK = threading.Lock()


def shown(ticket):
    attributes = {key: value for key, value in ticket.items() if key != "id"}
    return {"id": ticket["id"], "attributes": {**attributes, "internal_note": "never shown"}}


class Helpdesk(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, **headers):
        data = json.dumps(body).encode()
        if headers.pop("packed", False):
            data = gzip.compress(data)
            headers["Content_Encoding"] = "gzip"
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if self.headers.get("X-Api-Key") != "example-key":
            return self.answer(401, {"error": "no key"})
        path, _, query = self.path.partition("?")
        parts = path.strip("/").split("/")
        tickets = TICKETS.get(parts[2], []) if len(parts) > 2 else []
        if len(parts) == 4:
            state = dict(pair.split("=") for pair in query.split("&") if "=" in pair).get("state")
            return self.answer(200, {"data": [shown(t) for t in tickets if state in (None, t["state"])]}, packed=True)
        if len(parts) == 5 and parts[3] == "keys":
            with LOCK:
                created = CREATED.setdefault(unquote(parts[4]), None)
            return self.answer(200 if created else 404, {})
        if len(parts) != 5:
            return self.answer(404, {"error": "no such path"})
        return self.ticket(parts[4], tickets)

    def do_POST(self):
        """A ticket is created once for each key: a repeated request gets the first answer."""
        if self.headers.get("X-Api-Key") != "example-key":
            return self.answer(401, {"error": "no key"})
        key, body = self.headers.get("Idempotency-Key"), self.rfile.read(int(self.headers["Content-Length"]))
        if not key:
            return self.answer(400, {"error": "Idempotency-Key is missing"})
        company, wanted = self.path.split("/")[3], json.loads(body)
        with LOCK:
            if key not in CREATED:
                ticket = {"id": f"T-{100 + len(CREATED)}", "state": "open", "amount": 0, **wanted}
                TICKETS.setdefault(company, []).insert(0, ticket)
                CREATED[key] = ticket
            elif CREATED[key] is None:
                return self.answer(410, {"error": "this key was given up"})
        return self.answer(201, {"data": shown(CREATED[key])})

    def ticket(self, reference, tickets):
        if reference == "T-90":
            time.sleep(30)
        elif reference == "T-91":
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b'{"data":')
            self.close_connection = True
        elif reference == "T-92":
            self.answer(200, {"data": " " * 10_000_000}, packed=True)
        elif reference == "T-93":
            self.answer(302, {}, Location="http://169.254.169.254/latest/meta-data")
        elif reference == "T-94":
            self.answer(503, {"error": "maintenance"}, Retry_After="7")
        else:
            found = [shown(ticket) for ticket in tickets if ticket["id"] == reference]
            if found:
                self.answer(200, {"data": found[0]}, ETag='"7"')
            else:
                self.answer(404, {"error": "no ticket of this company has that reference"})


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Helpdesk)
print(server.server_address[1], flush=True)
server.serve_forever()
