// Runs the README's JavaScript over the cases that snippets.py wrote: node snippet.mjs FOLDER

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
const { verify } = await import(pathToFileURL(`${folder}/snippet.mjs`));
const cases = JSON.parse(readFileSync(`${folder}/cases.json`, "utf8"));
assert.ok(cases.length > 0, "nothing to verify");
for (const { name, secret, headers, body, accepted } of cases) {
    assert.equal(verify(secret, headers, Buffer.from(body, "base64")), accepted, name);
}
