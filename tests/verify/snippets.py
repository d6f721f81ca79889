"""The README's three ways to verify a signature, against requests that howk made.

`verify.py` sets `Snippets.arrived` (its recorded requests), `Snippets.other` (a secret that signed nothing) and
`Snippets.work` (a folder for what is written here). Every snippet is taken from the README, gets the same cases, and
has to accept what howk signed and to refuse everything else without failing.
"""

import base64
import hashlib
import hmac
import json
import pathlib
import shutil
import subprocess
import time
import unittest

from readme import only_block

HERE = pathlib.Path(__file__).resolve().parent
SECTION = "Verify a signature"
TIMEOUT = 240  # seconds; the first use of Go compiles its standard library


def signed(secret, at, body):
    """Headers as howk writes them, for a moment of our choice."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    tag = hmac.digest(key, f"wh_1.{at}.".encode() + body, hashlib.sha256)
    signature = "v1," + base64.b64encode(tag).decode()
    return {"webhook-id": "wh_1", "webhook-timestamp": str(at), "webhook-signature": signature}


def changes(secret, other, headers, body):
    """What a receiver has to refuse, made from a request that it has to accept."""
    later = str(int(headers["webhook-timestamp"]) + 1)
    yield "another body", secret, headers, body + b" "
    yield "another time", secret, {**headers, "webhook-timestamp": later}, body
    yield "no number for a time", secret, {**headers, "webhook-timestamp": "now"}, body
    yield "another id", secret, {**headers, "webhook-id": headers["webhook-id"] + "0"}, body
    yield "another secret", other, headers, body
    yield "an empty secret", "whsec_", headers, body
    yield "a cut signature", secret, {**headers, "webhook-signature": headers["webhook-signature"][:20]}, body
    yield "no version", secret, {**headers, "webhook-signature": headers["webhook-signature"].replace("v1,", "")}, body
    for name in ("webhook-id", "webhook-timestamp", "webhook-signature"):
        yield f"no {name}", secret, {key: value for key, value in headers.items() if key != name}, body


class Snippets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.work / "snippets"
        shutil.rmtree(cls.folder, ignore_errors=True)
        cls.folder.mkdir()
        cls.cases = list(cls.every_case())
        cls.accepted = sum(case["accepted"] for case in cls.cases)
        (cls.folder / "cases.json").write_text(json.dumps(cls.cases))

    @classmethod
    def every_case(cls):
        def case(name, secret, headers, body, accepted):
            text = base64.b64encode(body).decode()
            return {"name": name, "secret": secret, "headers": headers, "body": text, "accepted": accepted}

        for name, sent in cls.arrived.items():
            headers = {header.lower(): value for header, value in sent["headers"]}
            body = base64.b64decode(sent["body"])
            for secret in (secret for secret in sent["secrets"] if secret.startswith("whsec_")):
                yield case(name, secret, headers, body, True)
                for what, *changed in changes(secret, cls.other, headers, body):
                    yield case(f"{name}, {what}", *changed, False)
        now, body = int(time.time()), b'{"order":7}'
        yield case("a minute old", cls.other, signed(cls.other, now - 60, body), body, True)
        yield case("ten minutes old", cls.other, signed(cls.other, now - 600, body), body, False)
        yield case("from the future", cls.other, signed(cls.other, now + 600, body), body, False)
        # An attacker can make this against a receiver whose secret is not set.
        yield case("signed with no secret", "whsec_", signed("whsec_", now, body), body, False)

    def test_1_there_is_something_to_accept_and_to_refuse(self):
        self.assertGreater(self.accepted, 10)
        self.assertGreater(len(self.cases) - self.accepted, 100)

    def test_2_python(self):
        snippet = {}
        exec(compile(only_block(SECTION, "python"), "README.md", "exec"), snippet)
        for case in self.cases:
            with self.subTest(case=case["name"]):
                given = snippet["verify"](case["secret"], case["headers"], base64.b64decode(case["body"]))
                self.assertIs(given, case["accepted"])

    def test_3_javascript(self):
        (self.folder / "snippet.mjs").write_text(only_block(SECTION, "javascript"))
        self.succeeds(["node", HERE / "snippet.mjs", self.folder])

    def test_4_go(self):
        (self.folder / "snippet.go").write_text(only_block(SECTION, "go"))
        (self.folder / "go.mod").write_text("module receiver\n\ngo 1.21\n")
        shutil.copy(HERE / "snippet_test.go", self.folder)
        unformatted = subprocess.run(["gofmt", "-l", "."], cwd=self.folder, capture_output=True, text=True, check=True)
        self.assertEqual(unformatted.stdout, "", "gofmt would write the README's Go in another way")
        self.succeeds(["go", "test", "-count=1", "./..."])

    def succeeds(self, command):
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=TIMEOUT)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
