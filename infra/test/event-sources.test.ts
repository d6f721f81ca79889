// The lanes' event source mappings.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { App, Stack } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { unprovisioned } from '../lib/event-sources.ts';
import { synthesised } from './examples.ts';

const RETRIES = ['BisectBatchOnFunctionError', 'FunctionResponseTypes', 'MaximumRetryAttempts', 'MaximumRecordAgeInSeconds'];

test('provisioned lanes answer in parts, halve what fails, and give nothing up', () => {
    const mappings = synthesised('medium').templates.functions.findResources('AWS::Lambda::EventSourceMapping');
    const properties = Object.values(mappings).map(({ Properties }) => Properties as Record<string, unknown>);
    assert.deepEqual(
        properties.map(
            ({
                Topics,
                AmazonManagedKafkaEventSourceConfig,
                BatchSize,
                MaximumBatchingWindowInSeconds,
                ProvisionedPollerConfig,
            }) => ({
                Topics,
                AmazonManagedKafkaEventSourceConfig,
                BatchSize,
                MaximumBatchingWindowInSeconds,
                ProvisionedPollerConfig,
            }),
        ),
        [
            {
                Topics: ['howk.pending'],
                AmazonManagedKafkaEventSourceConfig: { ConsumerGroupId: 'howk-workers' },
                BatchSize: 200,
                MaximumBatchingWindowInSeconds: 0,
                ProvisionedPollerConfig: { MinimumPollers: 12, MaximumPollers: 24, PollerGroupName: 'howk-medium' },
            },
            {
                Topics: ['howk.slow'],
                AmazonManagedKafkaEventSourceConfig: { ConsumerGroupId: 'howk-workers-slow' },
                BatchSize: 500,
                MaximumBatchingWindowInSeconds: 1,
                ProvisionedPollerConfig: { MinimumPollers: 4, MaximumPollers: 12, PollerGroupName: 'howk-medium' },
            },
        ],
    );
    for (const mapping of properties) {
        assert.equal(mapping['BisectBatchOnFunctionError'], true);
        assert.deepEqual(mapping['FunctionResponseTypes'], ['ReportBatchItemFailures']);
        assert.equal(mapping['MaximumRetryAttempts'], -1);
        assert.equal(mapping['MaximumRecordAgeInSeconds'], undefined, 'unset, it is unlimited');
        assert.equal(mapping['DestinationConfig'], undefined, 'a destination would cap the attempts');
    }
});

test('on-demand lanes have none of the retry settings', () => {
    const mappings = synthesised('existing-cluster').templates.functions.findResources('AWS::Lambda::EventSourceMapping');
    assert.equal(Object.keys(mappings).length, 2);
    for (const { Properties } of Object.values(mappings)) {
        const properties = Properties as Record<string, unknown>;
        assert.deepEqual(
            ['ProvisionedPollerConfig', 'MetricsConfig', ...RETRIES].filter((name) => properties[name] !== undefined),
            [],
        );
    }
});

test('a retry setting without provisioned mode fails at synth', () => {
    const stack = new Stack(new App(), 'Stack');
    const target = lambda.Function.fromFunctionArn(stack, 'Target', 'arn:aws:lambda:eu-west-1:111122223333:function:lane');
    const retries: Partial<lambda.EventSourceMappingOptions>[] = [
        { bisectBatchOnError: true },
        { retryAttempts: 3 },
        { reportBatchItemFailures: true },
    ];
    const found = retries.map((retry, index) => {
        const options = {
            target,
            eventSourceArn: 'arn',
            kafkaTopic: 'howk.pending',
            startingPosition: lambda.StartingPosition.LATEST,
        };
        return unprovisioned(new lambda.EventSourceMapping(stack, `Mapping${index}`, { ...options, ...retry }));
    });
    assert.deepEqual(found, [
        ['Stack/Mapping0: BisectBatchOnFunctionError needs provisioned mode: set pollers in howk.yaml'],
        ['Stack/Mapping1: MaximumRetryAttempts needs provisioned mode: set pollers in howk.yaml'],
        ['Stack/Mapping2: FunctionResponseTypes needs provisioned mode: set pollers in howk.yaml'],
    ]);
});

test('the mappings wait for the topics', () => {
    for (const example of ['howk', 'small', 'medium', 'existing-cluster'] as const) {
        const { data, functions } = synthesised(example);
        assert.ok(functions.dependencies.includes(data), example);
    }
});
