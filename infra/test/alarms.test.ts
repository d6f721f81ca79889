// Alarms and dashboard: named after invariants, explained in README.md, and about metrics that howk writes.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { NAMES } from '../lib/metrics.ts';
import { EXAMPLES, infra, synthesised } from './examples.ts';

const README = readFileSync(join(infra, 'README.md'), 'utf8');
const INVARIANTS = [...readFileSync(join(infra, '../README.md'), 'utf8').matchAll(/^\| ([A-Z]{2}-\d) \|/gm)].map(([, id]) => id);

interface Alarm {
    readonly AlarmName: string;
    readonly AlarmDescription: string;
    readonly AlarmActions: unknown[];
}

function alarmsOf(example: (typeof EXAMPLES)[number]): Alarm[] {
    const { functions } = synthesised(example).templates;
    return Object.values(functions.findResources('AWS::CloudWatch::Alarm')).map(({ Properties }) => Properties as Alarm);
}

test('every alarm is named after an invariant, says what to do, and notifies the topic of alarms', () => {
    for (const example of EXAMPLES) {
        for (const { AlarmName, AlarmDescription, AlarmActions } of alarmsOf(example)) {
            const invariant = /-([A-Z]{2}-\d)-/.exec(AlarmName)?.[1];
            assert.ok(INVARIANTS.includes(invariant), AlarmName);
            assert.match(AlarmDescription, / What to do: /, AlarmName);
            assert.equal(AlarmActions.length, 1, AlarmName);
        }
    }
});

test('README.md has a line for every alarm, with the same words, and for no other', () => {
    const alarms = new Map(
        EXAMPLES.flatMap((example) => {
            const { name } = synthesised(example).deployment;
            return alarmsOf(example).map(
                ({ AlarmName, AlarmDescription }) => [AlarmName.slice(name.length + 1), AlarmDescription] as const,
            );
        }),
    );
    const rows = [...README.matchAll(/^\| `([A-Z]{2}-\d-[a-z-]+)` \| (.+) \| (.+) \|$/gm)];
    const listed = new Map(rows.map(([, name, means, remedy]) => [name, `${means} What to do: ${remedy}`]));
    assert.deepEqual(new Map([...listed].sort()), new Map([...alarms].sort()));
});

test("howk's metrics have the names that it writes", () => {
    const source = readFileSync(join(infra, '../shared/delivery/src/observe.rs'), 'utf8');
    const written = [...source.matchAll(/pub const [A-Z_]+: &str = "(howk_[a-z_]+)"/g)].map(([, name]) => name);
    assert.deepEqual(
        Object.values(NAMES).filter((name) => !written.includes(name)),
        [],
    );
});

test('the dashboard shows every metric of howk', () => {
    const { functions } = synthesised('howk').templates;
    const [page] = Object.values(functions.findResources('AWS::CloudWatch::Dashboard'));
    const body = JSON.stringify(page);
    const missing = Object.values(NAMES).filter((name) => name !== NAMES.undecodable && !body.includes(name));
    assert.deepEqual(missing, []);
});
