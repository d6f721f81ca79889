"""Sends webhooks through a real howk to a receiver of its own, verifies what arrived, and runs what the README prints.

Called by `run`: verify.py HOWK WORK_DIR, where WORK_DIR/npm holds verify.mjs and its packages.

First all webhooks are sent and recorded (WORK_DIR/recorded.json). Then the record is verified: by PyPI's
standardwebhooks, by npm's in verify.mjs, which also checks ed25519, by hand for the original's header, and by the
README's three snippets (snippets.py). Then come howk's demo and the README's tour (tour.py). Every request goes to
127.0.0.1, and every process started here is ended here.
"""

import base64
import contextlib
import hashlib
import hmac
import http.client
import http.server
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import unittest

from snippets import Snippets
from standardwebhooks import Webhook, WebhookVerificationError
from tour import Tour

TIMEOUT = 30  # seconds, for every wait that has no bound of its own
STOPPING = 45  # seconds, for howk to work off what is pending
DEMO = 60  # seconds, as the README says


def secret(name, prefix="whsec_"):
    """A 32-byte key that is the same in every run."""
    return prefix + base64.b64encode(hashlib.sha256(name.encode()).digest()).decode()


FIRST, OLD, NEW, OTHER = map(secret, ("first", "old", "new", "other"))
TEXT = "a secret without a prefix: its text is the key"
# The key pair of RFC 8032, 7.1, test 1.
SEED = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
PUBLIC = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
ED25519 = "whsk_" + base64.b64encode(SEED).decode()
ED25519_PAIR = "whsk_" + base64.b64encode(SEED + PUBLIC).decode()

PLAIN = b'{"event":"order.paid","amount":1250}'
# What a sender that parses and writes JSON again would change.
HARD = {
    "whitespace": b'{ "a" :\t[ 1 ,2,\n  3 ]\r\n , "b":{ } }',
    "key-order": b'{"z":1,"a":2,"m":{"y":1,"b":2}}',
    "duplicate-keys": b'{"a":1,"a":2,"a":{"a":3,"a":4}}',
    "escapes": b'["\\u00e9","\\/","/","\\ud83d\\ude00","\\u0041","\\u2028","\\u0000"]',
    "lone-surrogate": b'["\\ud800"]',
    "non-ascii": '{"é":"naïve 日本語 😀 \u2028","e\u0301":"\u200b\ufeff"}'.encode(),
    "beyond-2-53": b"[9007199254740993,-9007199254740993,18446744073709551616]",
    "exponents": b"[1e308,1E+2,1e-400,0.1e1,1e0]",
    "negative-zero": b"[-0.0,-0,0.0]",
    "trailing-zero": b'{"price":1.10,"rate":100.00}',
    "100-digits": b"[" + b"1234567890" * 10 + b",0." + b"1234567890" * 10 + b"]",
    "scalar-null": b"null",
    "scalar-text": b'"text"',
    "scalar-number": b"1.0",
    "empty-list": b"[ ]",
    "deep": b"[" * 200 + b"]" * 200,
    "large": b'{"text":"' + "aé".encode() * 100_000 + b'"}',
}
# Name -> (the secrets, the payload, the fields that carry the secrets).
CASES = {
    "one-secret": ([FIRST], PLAIN, {"signing_secret": FIRST}),
    "rotation": ([OLD, NEW], PLAIN, {"signing_secrets": [OLD, NEW]}),
    "both-fields": ([NEW, OLD], PLAIN, {"signing_secret": NEW, "signing_secrets": [OLD]}),
    "text-secret": ([TEXT], PLAIN, {"signing_secret": TEXT}),
    "ed25519-seed": ([ED25519], PLAIN, {"signing_secret": ED25519}),
    "ed25519-pair": ([ED25519_PAIR], PLAIN, {"signing_secret": ED25519_PAIR}),
    "both-algorithms": ([ED25519, FIRST], PLAIN, {"signing_secrets": [ED25519, FIRST]}),
    "unsigned": ([], PLAIN, {}),
    **{name: ([FIRST], payload, {"signing_secret": FIRST}) for name, payload in HARD.items()},
}


class Receiver:
    """Answers 200 to everything, and keeps it: path, headers in their order, body."""

    def __init__(self):
        self.requests, self.changed = [], threading.Condition()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with receiver.changed:
                    receiver.requests.append((self.path, self.headers.items(), body))
                    receiver.changed.notify_all()
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def wait_for(self, count):
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.requests) >= count, TIMEOUT):
                missing = set(CASES) - {path[1:] for path, _, _ in self.requests}
                sys.exit(f"not delivered within {TIMEOUT} s: {', '.join(sorted(missing))}")


@contextlib.contextmanager
def howk(command, *options, **streams):
    """Runs howk apart from the settings of this machine, and ends it by SIGTERM if it has not ended by itself."""
    config = WORK / "howk.yaml"
    config.write_text("log:\n  level: info\n  format: text\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HOWK_")}
    environment["NO_COLOR"] = "1"
    words = [HOWK, command, "--config", config, *options]
    process = subprocess.Popen(words, cwd=WORK, env=environment, stdin=subprocess.DEVNULL, **streams)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOPPING)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def poll(process, log, what, look):
    """Calls `look` until it returns something; exits with howk's log when howk ends or the time is over."""
    give_up_at = time.monotonic() + TIMEOUT
    while process.poll() is None and time.monotonic() < give_up_at:
        if found := look():
            return found
        time.sleep(0.02)
    how = f"ended with {process.returncode}" if process.returncode is not None else f"ran for {TIMEOUT} s"
    return sys.exit(f"howk {how} and never {what}. Its log:\n{log.read_text()}")


def ask(port, method, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    try:
        connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def is_ready(port):
    try:
        return ask(port, "GET", "/ready")[0] == 200
    except OSError:
        return False


def enqueue(port, name, url):
    """Posts one webhook, its payload pasted in as bytes. Returns the webhook's id."""
    _, payload, fields = CASES[name]
    others = json.dumps({"endpoint": f"{url}/{name}", "max_attempts": 1, **fields}).encode()
    body = others[:-1] + b', "payload": ' + payload + b"}"
    status, answer = ask(port, "POST", "/webhooks/verify/enqueue", body)
    if status != 202:
        sys.exit(f"{name}: answered {status} instead of 202: {answer.decode()}")
    return json.loads(answer)["webhook_id"]


def record():
    """Sends every case. Returns what arrived by name, and howk's exit code."""
    receiver, log, begun_at = Receiver(), WORK / "howk.log", int(time.time())
    with log.open("w") as stderr, howk("serve", "--port", "0", stderr=stderr) as process:
        serving = re.compile(r"serving http://127\.0\.0\.1:(\d+)")
        port = int(poll(process, log, "logged its URL", lambda: serving.search(log.read_text()))[1])
        poll(process, log, "was ready", lambda: is_ready(port))
        ids = {name: enqueue(port, name, receiver.url) for name in CASES}
        receiver.wait_for(len(CASES))
        process.terminate()
        exit_code = process.wait(STOPPING)
    receiver.server.shutdown()
    arrived = {}
    for path, headers, body in receiver.requests:
        name = path[1:]
        if name in arrived:
            sys.exit(f"{name} was delivered twice")
        sent = {"name": name, "id": ids[name], "secrets": CASES[name][0], "between": [begun_at, int(time.time())]}
        arrived[name] = {**sent, "headers": headers, "body": base64.b64encode(body).decode()}
    record_of = {"other": OTHER, "public": base64.b64encode(PUBLIC).decode(), "cases": arrived}
    (WORK / "recorded.json").write_text(json.dumps(record_of, indent=1))
    return arrived, exit_code


def every_case(check):
    """Turns a check of one case into a test of all: it gets the case, its headers by lower-case name, and its body."""

    def test(self):
        for name, case in self.arrived.items():
            with self.subTest(case=name):
                headers = {header.lower(): value for header, value in case["headers"]}
                self.assertEqual(len(headers), len(case["headers"]), "a header arrived twice")
                check(self, case, headers, base64.b64decode(case["body"]))

    return test


class Recorded(unittest.TestCase):
    """What arrived: `arrived` by name, and howk's `exit_code`."""

    def test_1_every_webhook_arrived_once_and_howk_ended_well(self):
        self.assertEqual(set(self.arrived), set(CASES))
        self.assertEqual(self.exit_code, 0, "exit code after SIGTERM")

    @every_case
    def test_2_bodies_are_the_payloads_byte_for_byte(self, case, headers, body):
        payload = CASES[case["name"]][1]
        same = len(os.path.commonprefix([body, payload]))
        self.assertTrue(body == payload, f"from byte {same} on {body[same:][:40]} came for {payload[same:][:40]}")

    @every_case
    def test_3_headers_agree_with_each_other_and_with_the_answer(self, case, headers, body):
        self.assertEqual(headers["content-type"], "application/json")
        self.assertEqual((headers["webhook-id"], headers["x-webhook-id"]), (case["id"], case["id"]))
        self.assertEqual(headers["x-webhook-attempt"], "1")
        self.assertEqual(headers["x-webhook-timestamp"], headers["webhook-timestamp"])
        begin, end = case["between"]
        self.assertTrue(begin <= int(headers["webhook-timestamp"]) <= end, "a timestamp of another time")
        signatures = headers.get("webhook-signature", "").split()
        versions = ["v1a" if key.startswith("whsk_") else "v1" for key in case["secrets"]]
        self.assertEqual([entry.split(",")[0] for entry in signatures], versions, "one signature for each secret")

    @every_case
    def test_4_the_package_of_pypi_accepts_what_arrived_and_nothing_else(self, case, headers, body):
        for key in case["secrets"]:
            if key.startswith("whsk_"):
                continue
            webhook = Webhook(key if key.startswith("whsec_") else key.encode())
            webhook.verify(body, headers)
            later = {**headers, "webhook-timestamp": str(int(headers["webhook-timestamp"]) + 1)}
            self.refuses(webhook, body + b" ", headers)
            self.refuses(webhook, body, later)
            self.refuses(webhook, body, {**headers, "webhook-id": headers["webhook-id"] + "0"})
            self.refuses(Webhook(OTHER), body, headers)

    def refuses(self, webhook, body, headers):
        with self.assertRaisesRegex(WebhookVerificationError, "No matching signature"):
            webhook.verify(body, headers)

    @every_case
    def test_5_the_signature_of_the_original_is_right(self, case, headers, body):
        keys = [key.encode() for key in case["secrets"] if not key.startswith("whsk_")]
        unix = headers["x-webhook-timestamp"]
        tags = [hmac.new(key, unix.encode() + b"." + body, hashlib.sha256).hexdigest() for key in keys]
        expected = ",".join([f"t={unix}", *(f"v1={tag}" for tag in tags)]) if tags else None
        self.assertEqual(headers.get("x-webhook-signature"), expected)

    def test_6_the_package_of_npm_and_node_accept_what_arrived_and_nothing_else(self):
        verifier = ["node", WORK / "npm" / "verify.mjs", WORK / "recorded.json"]
        done = subprocess.run(verifier, capture_output=True, text=True, timeout=TIMEOUT)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        print(done.stdout, end="", flush=True)

    def test_7_the_demo_ends_well_within_a_minute_and_sums_up_every_scene(self):
        with howk("demo", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                out, err = process.communicate(timeout=DEMO)
            except subprocess.TimeoutExpired:
                self.fail(f"the demo had not ended after {DEMO} s")
        self.assertEqual(process.returncode, 0, out + err)
        scenes = re.findall(r"^  ([a-z][\w-]*) +\S", out, re.MULTILINE)
        summed_up = re.findall(r"^([a-z][\w-]*) ", out.partition("\nendpoint ")[2], re.MULTILINE)
        self.assertGreaterEqual(len(scenes), 5, f"the demo announces too few scenes:\n{out}")
        self.assertEqual(summed_up, scenes, f"the demo's summary names other scenes than it announced:\n{out}")


def interrupt(*_):
    raise KeyboardInterrupt


if __name__ == "__main__":
    HOWK, WORK = map(pathlib.Path, sys.argv[1:])
    signal.signal(signal.SIGTERM, interrupt)
    Recorded.arrived, Recorded.exit_code = record()
    print(f"{len(Recorded.arrived)} webhooks sent through howk and received", flush=True)
    Snippets.arrived, Snippets.other, Snippets.work, Tour.work = Recorded.arrived, OTHER, WORK, WORK
    unittest.main(argv=sys.argv[:1], verbosity=2)
