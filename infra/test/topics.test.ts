// The topics: the one list, what each kind of cluster takes of it, and the custom resource that makes them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handler } from '../lib/serverless-topics/handler.ts';
import { ensure, type FoundTopic, type TopicAdmin, type TopicSpec } from '../lib/serverless-topics/ensure.ts';
import { configFor, topics } from '../lib/topic-list.ts';

class Admin implements TopicAdmin {
    readonly there: Map<string, FoundTopic>;
    readonly made: string[] = [];

    constructor(there: Record<string, FoundTopic> = {}) {
        this.there = new Map(Object.entries(there));
    }

    async find(names: readonly string[]): Promise<ReadonlyMap<string, FoundTopic>> {
        return new Map([...this.there].filter(([name]) => names.includes(name)));
    }

    async create(missing: readonly TopicSpec[]): Promise<void> {
        for (const topic of missing) {
            this.made.push(topic.name);
            this.there.set(topic.name, topic);
        }
    }
}

const STATE: TopicSpec = {
    name: 'howk.state',
    partitions: 12,
    config: { 'cleanup.policy': 'compact', 'max.message.bytes': '8388608' },
};

test('a missing topic is made, and an existing one is left as it is', async () => {
    const tuned = { ...STATE, partitions: 24, config: { ...STATE.config, 'retention.ms': '1' } };
    const admin = new Admin({ 'howk.state': tuned });
    await ensure(admin, [STATE, { ...STATE, name: 'howk.results' }]);
    assert.deepEqual(admin.made, ['howk.results']);
    assert.equal(admin.there.get('howk.state'), tuned);
    await ensure(admin, [STATE]);
    assert.deepEqual(admin.made, ['howk.results'], 'asking again is safe');
});

test('every topic that howk cannot rely on is named at once', async () => {
    const admin = new Admin({
        'howk.state': { partitions: 12, config: { 'cleanup.policy': 'delete', 'max.message.bytes': '1048588' } },
        'howk.slow': { partitions: 3, config: STATE.config },
    });
    await assert.rejects(ensure(admin, [STATE, { ...STATE, name: 'howk.slow' }]), {
        message:
            'howk.state has cleanup.policy=delete, but howk relies on compact: delete and recreate it; ' +
            'howk.state has max.message.bytes=1048588, but records may have 8388608 bytes: raise it; ' +
            'howk.slow has 3 partitions, but howk is set up for 12: add some',
    });
});

test('a topic that cannot be made is named', async () => {
    const admin = new Admin();
    admin.create = async () => {};
    await assert.rejects(ensure(admin, [STATE]), { message: 'howk.state does not exist and was not made' });
});

test('Serverless and Express get only the settings that they accept', () => {
    for (const topic of topics) {
        assert.deepEqual(configFor(topic, 'standard'), topic.config);
        const allowed = ['cleanup.policy', 'max.message.bytes', 'retention.ms'];
        for (const kind of ['express', 'serverless'] as const) {
            const config = configFor(topic, kind);
            assert.deepEqual(
                Object.keys(config).filter((name) => !allowed.includes(name)),
                [],
            );
            assert.equal(config['cleanup.policy'], topic.config['cleanup.policy']);
        }
        assert.ok(Number(configFor(topic, 'serverless')['max.message.bytes']) <= 8 * 1024 * 1024);
    }
});

test('a stack that is deleted leaves its topics', async () => {
    const clusterArn = 'arn:aws:kafka:eu-west-1:111122223333:cluster/howk/0-0';
    const gone = await handler({
        RequestType: 'Delete',
        ResourceProperties: { clusterArn, topics: [{ ...STATE, partitions: '12' }] },
    });
    assert.deepEqual(gone, { PhysicalResourceId: `${clusterArn}/topics` });
});
