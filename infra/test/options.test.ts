// What no example chooses: MSK Express, a cluster whose topics are there, data that need not be kept, a cache of each kind.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Template } from 'aws-cdk-lib/assertions';
import { parse } from '../lib/settings/load.ts';
import { topics } from '../lib/topic-list.ts';
import { synthesise, type Synthesised } from './examples.ts';

type Resources = Record<string, { Type: string; Properties?: Record<string, unknown>; DeletionPolicy?: string }>;

function of(yaml: string): Synthesised {
    return synthesise(parse(`region: eu-west-1\n${yaml}\n`, 'howk.yaml'));
}

function resources(template: Template, type: string): Resources[string][] {
    return Object.values(template.findResources(type) as Resources);
}

test('Express brokers have no disks to size, and topics say what Express lets one set', () => {
    const { data } = of('kafka: { express: { instance: m7g.xlarge, brokers: 6 } }').templates;
    const [cluster] = resources(data, 'AWS::MSK::Cluster');
    const { BrokerNodeGroupInfo, NumberOfBrokerNodes } = cluster?.Properties as Record<string, Record<string, unknown>>;
    assert.equal(BrokerNodeGroupInfo?.['InstanceType'], 'express.m7g.xlarge');
    assert.equal(BrokerNodeGroupInfo['StorageInfo'], undefined);
    assert.equal(NumberOfBrokerNodes, 6);
    const [configuration] = resources(data, 'AWS::MSK::Configuration');
    assert.equal(configuration?.Properties?.['ServerProperties'], 'auto.create.topics.enable=false');
    const made = resources(data, 'AWS::MSK::Topic').map(({ Properties }) => [
        Properties?.['TopicName'],
        Buffer.from(String(Properties?.['Configs']), 'base64')
            .toString()
            .trim()
            .split('\n')
            .map((line) => line.split('=')[0]),
    ]);
    assert.equal(made.length, topics.length);
    const allowed = ['cleanup.policy', 'max.message.bytes', 'retention.ms'];
    for (const [name, keys] of made) {
        assert.deepEqual(
            (keys as string[]).filter((key) => !allowed.includes(key)),
            [],
            String(name),
        );
    }
});

test('topics that are there are not made', () => {
    const arn = 'arn:aws:kafka:eu-west-1:111122223333:cluster/shared/00000000-0000-0000-0000-000000000000-1';
    const { data } = of(
        `kafka: { existing: { cluster_arn: '${arn}', security_group_id: sg-0123456789abcdef1, topics: present } }`,
    ).templates;
    assert.deepEqual(resources(data, 'AWS::MSK::Topic'), []);
    assert.deepEqual(resources(data, 'AWS::MSK::Cluster'), []);
});

test('data that need not be kept is not protected', () => {
    const { data, templates } = of('keep_data: false');
    assert.equal(data.terminationProtection, false);
    const kept = Object.values(templates.data.toJSON()['Resources'] as Resources).filter(
        ({ DeletionPolicy }) => DeletionPolicy === 'Retain',
    );
    assert.deepEqual(kept, []);
});

test('a cache may answer before or after its replicas, or without', () => {
    for (const durability of ['sync', 'async', 'disabled']) {
        const { data } = of(`cache: { replication_group: { durability: ${durability}, shards: 3 } }`).templates;
        const [group] = resources(data, 'AWS::ElastiCache::ReplicationGroup');
        assert.deepEqual([group?.Properties?.['Durability'], group?.Properties?.['NumNodeGroups']], [durability, 3]);
        assert.deepEqual(resources(data, 'AWS::ElastiCache::ServerlessCache'), []);
    }
});

test('lanes may differ in how they are polled', () => {
    const { functions } = of('functions: { slow-lane: { pollers: null } }').templates;
    const provisioned = resources(functions, 'AWS::Lambda::EventSourceMapping').map(({ Properties }) => [
        (Properties?.['Topics'] as string[])[0],
        Properties?.['ProvisionedPollerConfig'] !== undefined,
        Properties?.['FunctionResponseTypes'] !== undefined,
    ]);
    assert.deepEqual(provisioned, [
        ['howk.pending', true, true],
        ['howk.slow', false, false],
    ]);
});

test('without a domain the API has its own address, and without an address there is no subscription', () => {
    const { functions } = of('').templates;
    assert.deepEqual(resources(functions, 'AWS::ApiGatewayV2::DomainName'), []);
    assert.deepEqual(resources(functions, 'AWS::SNS::Subscription'), []);
    assert.equal(resources(functions, 'AWS::SNS::Topic').length, 1);
});
