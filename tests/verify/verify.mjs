// Verifies recorded requests with npm's standardwebhooks, and their ed25519 signatures with Node's own crypto, as the
// package knows symmetric keys only. Called by verify.py: node verify.mjs RECORDED_JSON

import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import { readFileSync } from "node:fs";
import { Webhook } from "standardwebhooks";

const { other, public: publicKey, cases } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const x = Buffer.from(publicKey, "base64").toString("base64url");
const ed25519 = createPublicKey({ format: "jwk", key: { kty: "OKP", crv: "Ed25519", x } });

// What a receiver must notice: each returns what it makes of a body and its headers.
const changes = [
    (body, headers) => [Buffer.concat([body, Buffer.from(" ")]), headers],
    (body, headers) => [body, { ...headers, "webhook-timestamp": String(Number(headers["webhook-timestamp"]) + 1) }],
    (body, headers) => [body, { ...headers, "webhook-id": `${headers["webhook-id"]}0` }],
];

function checkSymmetric(secret, body, headers) {
    const mismatch = { message: "No matching signature found" };
    const webhook = secret.startsWith("whsec_") ? new Webhook(secret) : new Webhook(secret, { format: "raw" });
    webhook.verify(body, headers);
    for (const change of changes) {
        assert.throws(() => webhook.verify(...change(body, headers)), mismatch);
    }
    assert.throws(() => new Webhook(other).verify(body, headers), mismatch);
}

function checkEd25519(entry, body, headers) {
    const [version, signature] = entry.split(",");
    assert.equal(version, "v1a");
    const accepts = (body, headers) => {
        const signed = Buffer.concat([Buffer.from(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.`), body]);
        return verify(null, signed, ed25519, Buffer.from(signature, "base64"));
    };
    assert.ok(accepts(body, headers), "the signature does not fit");
    for (const change of changes) {
        assert.ok(!accepts(...change(body, headers)), "a changed request is accepted");
    }
}

const checked = { symmetric: 0, ed25519: 0 };
for (const [name, { secrets, headers: pairs, body: encoded }] of Object.entries(cases)) {
    const headers = Object.fromEntries(pairs.map(([header, value]) => [header.toLowerCase(), value]));
    const [body, entries] = [Buffer.from(encoded, "base64"), (headers["webhook-signature"] ?? "").split(" ")];
    try {
        secrets.forEach((secret, index) => {
            const isEd25519 = secret.startsWith("whsk_");
            isEd25519 ? checkEd25519(entries[index], body, headers) : checkSymmetric(secret, body, headers);
            checked[isEd25519 ? "ed25519" : "symmetric"] += 1;
        });
    } catch (error) {
        throw new Error(`${name}: ${error.message}`, { cause: error });
    }
}
assert.ok(checked.symmetric > 0 && checked.ed25519 > 0, "nothing to verify");
console.log(`npm: ${checked.symmetric} symmetric signatures, ${checked.ed25519} ed25519 signatures`);
