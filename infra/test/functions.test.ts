// The defaults of howk.yaml are those of functions.json, so that what was tried on one machine is what is deployed.
//
// Allowed to differ, since one machine has nothing of the kind or no need: reserved and provisioned concurrency, which bound
// connections and cold starts of many machines; and pollers, which scale from `min`, the number that functions.json has, to
// `max`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FUNCTIONS, LANE_SOURCES } from '../lib/catalogue.ts';
import { isPartial } from '../lib/settings/deployment.ts';
import { list } from '../lib/function-list.ts';
import { parse } from '../lib/settings/load.ts';

const { functions } = parse('region: eu-west-1', 'howk.yaml');

test('the same functions run', () => {
    assert.deepEqual(
        list.functions.map(({ name }) => name),
        FUNCTIONS.map(({ name }) => name),
    );
});

for (const { name, memory_mb, timeout_ms, concurrency } of list.functions) {
    test(`${name} has the same memory, time and concurrency`, () => {
        const { memory, timeout } = functions[name];
        assert.deepEqual({ memory, timeout_ms: timeout * 1000 }, { memory: memory_mb, timeout_ms });
        const own = name in LANE_SOURCES ? functions[name as keyof typeof LANE_SOURCES].concurrency : undefined;
        assert.equal(own, concurrency);
    });
}

test('the lanes are fed in the same way', () => {
    const deployed = Object.entries(LANE_SOURCES).map(([name, { topic }]) => {
        const lane = functions[name as keyof typeof LANE_SOURCES];
        return {
            function: name,
            topic,
            batch_size: lane.batch,
            window_ms: lane.window * 1000,
            pollers: lane.pollers?.min,
            report_batch_item_failures: isPartial(lane),
            bisect: lane.bisect ?? lane.pollers !== null,
        };
    });
    assert.deepEqual(list.event_sources, deployed);
});

test('what ticks is what has limits of its own for late events', () => {
    const late = list.functions.filter(({ retries }) => retries !== undefined).map(({ name }) => name);
    assert.deepEqual(
        list.schedules.map((schedule) => schedule.function),
        late,
    );
});
