"""A receiver to try howk with: prints every webhook that arrives. Usage: python3 localstack/receiver.py [PORT]

POST /hook     answers 200
POST /flaky    answers 503 to the first request for each webhook, then 200
POST /strict   answers 422 until it is mended
PUT  /strict   mends it: from now on it answers 200
"""

import http.server
import sys

seen, mended = set(), set()


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode(errors="replace")
        webhook = self.headers.get("webhook-id", "without an id")
        status = self.choose(webhook)
        print(f"{self.path}  {webhook}  attempt {self.headers.get('X-Webhook-Attempt')}  {body}  answered {status}", flush=True)
        self.answer(status)

    def do_PUT(self):
        mended.add(self.path)
        self.answer(200)

    def choose(self, webhook):
        if self.path == "/flaky" and webhook not in seen:
            seen.add(webhook)
            return 503
        return 422 if self.path == "/strict" and self.path not in mended else 200

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        """Requests are printed in one line above, not in the server's own form."""


port = int(sys.argv[1]) if len(sys.argv) > 1 else 9000
print(f"listening on http://127.0.0.1:{port}", flush=True)
try:
    http.server.ThreadingHTTPServer(("127.0.0.1", port), Receiver).serve_forever()
except KeyboardInterrupt:
    pass
