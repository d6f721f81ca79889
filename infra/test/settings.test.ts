// howk.yaml: every error at once, each with what to change.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, parse } from '../lib/settings/load.ts';
import { ignored, isAllowed, milliseconds, reference } from '../lib/settings/reference.ts';
import { EXAMPLES, fileOf } from './examples.ts';
import { errorsOf } from './errors.ts';

for (const example of EXAMPLES) {
    test(`${example} is a deployment`, () => {
        assert.ok(load(fileOf(example)).name.startsWith('howk'));
    });
}

test('a key that is not set has the default of the schema', () => {
    const { network, kafka, functions, keep_data } = parse('region: eu-west-1', 'howk.yaml');
    assert.deepEqual(network.create, { cidr: '10.42.0.0/16', nat_gateways: 1 });
    assert.deepEqual(kafka.standard, { instance: 'm7g.large', brokers: 3, storage_gb: 100, version: '3.9.x' });
    assert.deepEqual(functions['fast-lane'], {
        memory: 512,
        timeout: 60,
        concurrency: 50,
        batch: 100,
        window: 0,
        pollers: { min: 2, max: 6 },
    });
    assert.equal(keep_data, true);
});

test('every error is listed at once, with what to change', () => {
    const found = errorsOf(`
region: nowhere
colour: blue
keep_data: maybe
network: { create: {}, existing: {} }
kafka: { express: { instance: kafka.t3.small } }
functions: { fast-lane: { memory: 64, pollers: { min: 1 } } }
howk:
    retry: { jitter: 2, cohort: 3 }
    delivery: { timeout: 30, concurrency: 5 }
    kafka: { auth: scram, password: hunter2, topics: { scripts: x } }
    lua: { allow_hosts_by_namespace: { acme: [a.example] } }
    memory: { partitions: 3 }
    api: { host: 0.0.0.0 }
`);
    const wanted = [
        'region: must match pattern "^[a-z]{2}(-[a-z]+)+-[0-9]$"; it is "nowhere"',
        'the file: "colour" is unknown; remove it, or see howk.schema.json for its name',
        'keep_data: must be boolean; it is "maybe"',
        'network: name exactly one of create, existing',
        'kafka.express.instance: must be one of m7g.large, m7g.xlarge, m7g.2xlarge, m7g.4xlarge',
        'functions.fast-lane.memory: must be >= 128; it is 64',
        'functions.fast-lane.pollers: "max" is missing; add it',
        'howk.retry.jitter: 2 is not a number between 0 and 1',
        'howk.retry.cohort: is no setting of howk; see settings.md',
        'howk.delivery.timeout: 30 is not a duration between 100ms and 10m',
        'howk.delivery.concurrency: remove it: set functions.fast-lane.concurrency and functions.slow-lane.concurrency instead',
        'howk.kafka.auth: remove it: the stack signs in with IAM',
        'howk.kafka.password: remove it: secrets belong in Secrets Manager, see README.md',
        'howk.kafka.topics.scripts: remove it: howk ignores it, since scripts of tenants do not run yet',
        'howk.lua.allow_hosts_by_namespace: remove it: howk ignores it, since scripts of tenants do not run yet',
        'howk.memory.partitions: remove it: only the server reads it',
        'howk.api.host: remove it: only the server reads it',
    ];
    for (const error of wanted) {
        assert.ok(found.includes(error), `${error}\nis not in\n${found.join('\n')}`);
    }
});

test('a file that is not YAML is an error', () => {
    assert.equal(errorsOf('region: [').length, 1);
    assert.deepEqual(errorsOf(''), ['the file: "region" is missing; add it']);
});

test('durations are read as howk reads them', () => {
    const read = ['500ms', '30s', '1h30m', '7d', '1.5s'].map(milliseconds);
    assert.deepEqual(read, [500, 30_000, 5_400_000, 604_800_000, 1500]);
    assert.deepEqual(['', '30', 's', '5 s', '-1s'].map(milliseconds), Array(5).fill(undefined));
});

test('the reference is read, and its own defaults are allowed by it', () => {
    assert.ok(reference.size > 90 && ignored.size > 20);
    for (const setting of reference.values()) {
        assert.match(setting.variable, /^HOWK_[A-Z0-9_]+$/, setting.key);
        assert.ok(setting.preset === '–' || isAllowed(setting, setting.preset), `${setting.key}: ${setting.preset}`);
    }
});
