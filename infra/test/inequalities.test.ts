// What must hold between settings fails at synth, and says what to change.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { REPUBLISH_SECONDS, SETTLE_SECONDS, START_SECONDS } from '../lib/settings/inequalities.ts';
import { infra } from './examples.ts';
import { errorsOf } from './errors.ts';

const CASES: readonly [string, string][] = [
    [
        'functions: { fast-lane: { batch: 600, concurrency: 50 } }',
        'functions.fast-lane: batch 600 / concurrency 50 is 12 rounds of howk.delivery.fast_timeout, with 8 s of margin 68 s, ' +
            'but timeout is 60 s; raise timeout or concurrency, or lower batch or howk.delivery.fast_timeout',
    ],
    [
        'howk: { delivery: { timeout: 1m } }',
        'functions.slow-lane: batch 300 / concurrency 150 is 2 rounds of howk.delivery.timeout, with 8 s of margin 128 s, ' +
            'but timeout is 120 s; raise timeout or concurrency, or lower batch or howk.delivery.timeout',
    ],
    [
        'functions: { fast-lane: { timeout: 30 } }',
        'functions.fast-lane: timeout 30 s is less than howk.delivery.timeout 30 s with 8 s of margin, without which a lane ' +
            'refuses every batch; raise timeout, or lower howk.delivery.timeout',
    ],
    [
        'functions: { fast-lane: { timeout: 37 } }',
        'functions.fast-lane: timeout 37 s is less than howk.delivery.timeout 30 s with 8 s of margin, without which a lane ' +
            'refuses every batch; raise timeout, or lower howk.delivery.timeout',
    ],
    [
        'functions: { fast-lane: { timeout: 42, pollers: null } }',
        'functions.fast-lane: timeout 42 s is less than howk.delivery.timeout 30 s with 13 s of margin, without which a lane ' +
            'refuses every batch or has no time to publish the rest of it again; raise timeout, or lower howk.delivery.timeout',
    ],
    [
        'howk: { lambda: { deadline_margin: 30s } }',
        'functions.fast-lane: timeout 60 s is less than howk.delivery.timeout 30 s with 37 s of margin, without which a lane ' +
            'refuses every batch; raise timeout, or lower howk.delivery.timeout',
    ],
    [
        'functions: { slow-lane: { timeout: 900 } }',
        'functions.slow-lane: timeout 900 s is more than the 840 s that an event source mapping waits; lower it',
    ],
    [
        'functions: { slow-lane: { memory: 128 } }',
        'functions.slow-lane: concurrency 150 needs 238 MB, but memory is 128; raise memory or lower concurrency',
    ],
    [
        'functions: { slow-lane: { pollers: { min: 1, max: 13 } } }',
        'functions.slow-lane: pollers.max 13 is more than the 12 partitions of its topic, which is all that can be used; lower it',
    ],
    [
        'functions: { fast-lane: { pollers: { min: 5, max: 4 } } }',
        'functions.fast-lane: pollers.min 5 is more than pollers.max 4; swap them',
    ],
    [
        'functions: { fast-lane: { pollers: { min: 1, max: 1999 } } }',
        "functions: the lanes' pollers.max add up to 2005, but their group takes 2000; lower one",
    ],
    [
        'functions: { fast-lane: { pollers: null, partial_responses: true, bisect: true } }',
        'functions.fast-lane: partial_responses and bisect needs provisioned mode, but pollers is null; set pollers, or remove it',
    ],
    [
        'functions: { enqueue: { reserved_concurrency: 899 } }',
        'functions.enqueue.reserved_concurrency: with one each for scheduler and reconciler 901 are reserved, but AWS keeps 100 ' +
            "of account_concurrency 1000 unreserved; lower it, or raise the account's limit",
    ],
    [
        'functions: { enqueue: { provisioned_concurrency: 201 } }',
        'functions.enqueue.provisioned_concurrency: 201 is more than reserved_concurrency 200; lower it',
    ],
    [
        'account_concurrency: 9000\nfunctions: { enqueue: { reserved_concurrency: 3001 } }',
        'functions.enqueue.reserved_concurrency: 3001 processes connect to each broker, which takes 3000 with IAM; lower it',
    ],
    [
        'functions: { enqueue: { timeout: 31 } }',
        'functions.enqueue.timeout: 31 s is more than the 30 s that the HTTP API waits; lower it',
    ],
    [
        'functions: { scheduler: { timeout: 70 } }',
        'functions.scheduler.timeout: 70 s is not between 6 and 60: it runs until its end, and a tick starts each minute; set 60',
    ],
    [
        'howk: { api: { max_request_size: 6000000 } }',
        'howk.api.max_request_size: 6000000 bytes in base64 are more than the 6 MB that Lambda takes; set 4669440 or less',
    ],
    [
        `network: { existing: { vpc_id: vpc-1, zones: [eu-west-1a, eu-west-1b], egress_subnet_ids: [subnet-1, subnet-2], isolated_subnet_ids: [subnet-1, subnet-2, subnet-3] } }`,
        'network.existing: zones, egress_subnet_ids and isolated_subnet_ids have 2, 2, 3 entries; name one subnet of each kind per zone',
    ],
];

for (const [yaml, error] of CASES) {
    test(`fails at synth: ${yaml}`, () => {
        const found = errorsOf(`region: eu-west-1\n${yaml}\n`);
        assert.ok(found.includes(error), `${error}\nis not in\n${found.join('\n')}`);
    });
}

test('a lane has as much time after a request as the domain needs', () => {
    assert.equal(secondsIn('domain/src/lane.rs', 'SETTLE_MARGIN'), SETTLE_SECONDS);
});

test('a lane has as much time to start and to republish as lambda-kit takes', () => {
    assert.equal(secondsIn('lambda-kit/src/lane.rs', 'START_TIME'), START_SECONDS);
    assert.equal(secondsIn('lambda-kit/src/lane.rs', 'REPUBLISH_TIME'), REPUBLISH_SECONDS);
});

/** The seconds of a constant in the source of a crate. */
function secondsIn(source: string, name: string): number {
    const text = readFileSync(join(infra, '../shared', source), 'utf8');
    return Number(new RegExp(`const ${name}: Duration = Duration::from_secs\\((\\d+)\\);`).exec(text)?.[1]);
}

test('values at their bounds are no errors', () => {
    const yaml = `
region: eu-west-1
functions:
    enqueue: { reserved_concurrency: 898, timeout: 30 }
    fast-lane: { batch: 300, concurrency: 50, timeout: 38, memory: 138 }
    slow-lane: { pollers: { min: 12, max: 12 } }
howk: { api: { max_request_size: 4669440 } }
`;
    assert.deepEqual(errorsOf(yaml), []);
    const republishing = 'region: eu-west-1\nfunctions: { fast-lane: { timeout: 43, pollers: null } }\n';
    assert.deepEqual(errorsOf(republishing), []);
});
