// What hands the lanes their records: event source mappings in one poller group.
//
// Nothing is given up here: a receiver's failure is no record's failure, and what howk itself could not do comes again
// until it can (DL-1). So attempts and age are unlimited, and there is no destination, which would quietly cap them.

import { Duration } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { LANE_SOURCES } from './catalogue.ts';
import { type Functions, type FunctionsProps, groupOf } from './functions.ts';
import { type Lane, type LaneName, isPartial } from './settings/deployment.ts';

const UNLIMITED = -1;

export class EventSources extends Construct {
    readonly mappings: Readonly<Record<LaneName, lambda.EventSourceMapping>>;

    constructor(scope: Construct, functions: Functions, props: FunctionsProps) {
        super(scope, 'EventSources');
        const mapping = (name: LaneName): lambda.EventSourceMapping => this.mapping(name, functions.all[name], props);
        this.mappings = { 'fast-lane': mapping('fast-lane'), 'slow-lane': mapping('slow-lane') };
        this.node.addValidation({ validate: () => Object.values(this.mappings).flatMap(unprovisioned) });
    }

    private mapping(name: LaneName, target: lambda.Function, { deployment, data }: FunctionsProps): lambda.EventSourceMapping {
        const lane = deployment.functions[name];
        const mapping = new lambda.EventSourceMapping(this, name, {
            target,
            eventSourceArn: data.kafka.arns.cluster,
            kafkaTopic: LANE_SOURCES[name].topic,
            kafkaConsumerGroupId: groupOf(name, deployment),
            // A group that never committed begins with the oldest record.
            startingPosition: lambda.StartingPosition.TRIM_HORIZON,
            batchSize: lane.batch,
            maxBatchingWindow: Duration.seconds(lane.window),
            ...provisioned(lane, deployment.name),
        });
        // CDK sees no dependency between a topic and a function that reads it by name.
        mapping.node.addDependency(data.topics);
        return mapping;
    }
}

/** What only provisioned pollers do. */
function provisioned(lane: Lane, group: string): Partial<lambda.EventSourceMappingOptions> {
    const { pollers } = lane;
    return {
        ...(pollers && {
            provisionedPollerConfig: { minimumPollers: pollers.min, maximumPollers: pollers.max, pollerGroupName: group },
            metricsConfig: {
                metrics: [lambda.MetricType.EVENT_COUNT, lambda.MetricType.ERROR_COUNT, lambda.MetricType.KAFKA_METRICS],
            },
            logLevel: lambda.EventSourceMappingLogLevel.WARN,
            retryAttempts: UNLIMITED,
        }),
        ...((lane.bisect ?? pollers !== null) && { bisectBatchOnError: true }),
        ...(isPartial(lane) && { reportBatchItemFailures: true }),
    };
}

/** Retry settings that on-demand mode does not have: CloudFormation would find out at deploy, CDK never. */
export function unprovisioned(mapping: lambda.EventSourceMapping): string[] {
    const made = mapping.node.defaultChild as lambda.CfnEventSourceMapping;
    const settings = {
        BisectBatchOnFunctionError: made.bisectBatchOnFunctionError,
        FunctionResponseTypes: made.functionResponseTypes,
        MaximumRecordAgeInSeconds: made.maximumRecordAgeInSeconds,
        MaximumRetryAttempts: made.maximumRetryAttempts,
    };
    const set = Object.entries(settings).filter(([, value]) => value !== undefined);
    return made.provisionedPollerConfig !== undefined || set.length === 0
        ? []
        : [`${mapping.node.path}: ${set.map(([name]) => name).join(', ')} needs provisioned mode: set pollers in howk.yaml`];
}
