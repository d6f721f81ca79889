// Every alarm: the invariant that it watches over, what it means, and what to do. README.md repeats them; a test compares.

import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import type { EventSources } from './event-sources.ts';
import type { Functions, FunctionsProps } from './functions.ts';
import { MINUTE, own, sum } from './metrics.ts';
import type { Api } from './api.ts';
import type { LaneName } from './settings/deployment.ts';

export interface AlarmSpec {
    /** The invariant and what is wrong: `DL-1-fast-lane-lag`. */
    readonly name: string;
    readonly means: string;
    readonly remedy: string;
    readonly metric: cloudwatch.IMetric;
    readonly threshold: number;
    /** Minutes in a row. */
    readonly minutes: number;
    /** Below the threshold rather than above it. */
    readonly below?: true;
    /** Whether silence is a breach. */
    readonly silence?: true;
}

export interface Watched extends FunctionsProps {
    readonly functions: Functions;
    readonly sources: EventSources;
    readonly api: Api;
}

const LANES: readonly LaneName[] = ['fast-lane', 'slow-lane'];
const ALL = ['enqueue', 'fast-lane', 'slow-lane', 'scheduler', 'reconciler'] as const;

/** The alarms of a deployment. */
export function alarms(watched: Watched): AlarmSpec[] {
    return [
        ...LANES.flatMap((lane) => ofLane(lane, watched)),
        ...ofRecords(watched),
        ...ofAcceptance(watched),
        ...ofSchedule(watched),
        ...ofHotState(watched),
        ...ofBrokers(watched),
        ...ofCache(watched),
    ];
}

function ofLane(lane: LaneName, { deployment, sources, functions }: Watched): AlarmSpec[] {
    const id = sources.mappings[lane].eventSourceMappingId;
    const dropped: AlarmSpec = {
        name: `DL-1-${lane}-dropped`,
        means: 'Event pollers dropped records, which must never happen.',
        remedy: 'Set MaximumRetryAttempts and MaximumRecordAgeInSeconds of the event source mapping back to -1 and redeploy; replay the records from their topic by resetting the consumer group before them.',
        metric: ofAws('AWS/Lambda', 'DroppedEventCount', { EventSourceMappingUUID: id }),
        threshold: 0,
        minutes: 1,
    };
    return [
        {
            name: `DL-1-${lane}-lag`,
            means: 'Webhooks wait in the lane too long: more are accepted than delivered, or the lane fails.',
            remedy: `See the errors of ${lane} first. Without errors raise pollers.max, then concurrency, then the topic's partitions.`,
            metric: own({
                name: 'lag',
                function: 'scheduler',
                labels: { lane: lane.replace('-lane', '') },
                statistic: 'Maximum',
            }),
            threshold: deployment.observability.lag_max,
            minutes: 5,
        },
        ...(deployment.functions[lane].pollers === null ? [] : [dropped]),
        {
            name: `DL-1-${lane}-errors`,
            means: 'Batches fail as a whole and are redelivered: howk itself fails, not a receiver.',
            remedy: 'Read the function log: a bad setting, Kafka or Redis unreachable, or a timeout. Nothing is lost meanwhile.',
            metric: functions.all[lane].metricErrors({ period: MINUTE }),
            threshold: 0,
            minutes: 5,
        },
    ];
}

function ofRecords({ functions }: Watched): AlarmSpec[] {
    const undecodable = LANES.map((lane) => own({ name: 'undecodable', function: lane }));
    const permanent = ALL.map((name) => own({ name: 'faults', function: name, labels: { kind: 'permanent' } }));
    return [
        {
            name: 'DL-1-undecodable',
            means: 'Records could not be read; howk.deadletter keeps them with their bytes.',
            remedy: 'Find the program that writes to howk.pending or howk.slow beside howk, or the release that wrote the records; replay after the fix.',
            metric: sum(undecodable, 'undecodable records'),
            threshold: 0,
            minutes: 1,
        },
        {
            name: 'DL-1-permanent-faults',
            means: 'howk met a fault of Kafka or Redis that repeating does not cure.',
            remedy: 'Read the error in the function log: usually a missing topic, a missing grant, or a record that is too large.',
            metric: sum(permanent, 'permanent faults'),
            threshold: 0,
            minutes: 5,
        },
        {
            name: 'DL-1-dead-letter-queue',
            means: 'A tick of scheduler or reconciler failed or was never run.',
            remedy: 'Read the message and the function log, then purge the queue: the next tick does the work of the missed one.',
            metric: functions.deadLetters.metricApproximateNumberOfMessagesVisible({ period: MINUTE, statistic: 'Maximum' }),
            threshold: 0,
            minutes: 5,
        },
    ];
}

function ofAcceptance({ functions, api }: Watched): AlarmSpec[] {
    const { enqueue } = functions.all;
    return [
        {
            name: 'DL-1-not-accepted',
            means: 'Callers get 5xx: their webhooks were not accepted.',
            remedy: 'See the log of enqueue. 503 means that Kafka does not acknowledge: see the brokers. Callers repeat with the same idempotency key.',
            metric: api.http.metricServerError({ period: MINUTE, statistic: 'Sum' }),
            threshold: 5,
            minutes: 3,
        },
        {
            name: 'DL-1-enqueue-throttled',
            means: 'More requests come in at once than enqueue may run.',
            remedy: 'Raise functions.enqueue.reserved_concurrency; ask callers to use the batch route.',
            metric: enqueue.metricThrottles({ period: MINUTE }),
            threshold: 0,
            minutes: 3,
        },
    ];
}

function ofSchedule({ deployment, functions }: Watched): AlarmSpec[] {
    return [
        {
            name: 'RT-1-late-releases',
            means: 'Webhooks are due and are not released in time.',
            remedy: 'See the log of scheduler. Without errors raise howk.scheduler.batch_size and the memory of scheduler.',
            metric: own({ name: 'due', function: 'scheduler', statistic: 'Minimum' }),
            threshold: deployment.observability.due_max,
            minutes: 5,
        },
        {
            name: 'RT-1-no-tick',
            means: 'The scheduler does not run, so no retry is released.',
            remedy: 'Is its schedule enabled, and does its role still invoke it? Invoke it by hand meanwhile: aws lambda invoke.',
            metric: functions.all.scheduler.metricInvocations({ period: MINUTE }),
            threshold: 1,
            minutes: 5,
            below: true,
            silence: true,
        },
        failing(
            'RT-1-scheduler-errors',
            functions.all.scheduler,
            'The scheduler fails; retries are released late or not at all.',
        ),
    ];
}

function ofHotState({ functions }: Watched): AlarmSpec[] {
    const redelivered = LANES.map((lane) =>
        own({ name: 'decisions', function: lane, labels: { decision: 'redelivered', reason: 'store_failed' } }),
    );
    return [
        {
            name: 'CB-1-store-unreadable',
            means: 'Circuits could not be read, so webhooks were not sent and their records are redelivered.',
            remedy: 'See the cache: memory, throttled commands, failover. Nothing is lost; the lanes go on by themselves.',
            metric: sum(redelivered, 'redelivered'),
            threshold: 0,
            minutes: 5,
        },
        failing('RB-1-reconciler-errors', functions.all.reconciler, 'Redis was lost and the rebuild fails, or its check does.'),
        {
            name: 'RB-1-no-check',
            means: 'The reconciler does not run, so a lost Redis would not be rebuilt.',
            remedy: 'Is its schedule enabled, and does its role still invoke it? Invoke it by hand meanwhile: aws lambda invoke.',
            metric: functions.all.reconciler.metricInvocations({ period: MINUTE }),
            threshold: 1,
            // A rebuild may take its whole timeout, and no other runs beside it.
            minutes: 15,
            below: true,
            silence: true,
        },
    ];
}

function failing(name: string, of: lambda.Function, means: string): AlarmSpec {
    return {
        name,
        means,
        remedy: 'Read the function log: a bad setting, Kafka or Redis unreachable, or a timeout. The next tick tries again.',
        metric: of.metricErrors({ period: MINUTE }),
        threshold: 0,
        minutes: 3,
    };
}

function ofBrokers({ data, deployment }: Watched): AlarmSpec[] {
    const cluster = data.kafka.monitored;
    if (cluster === undefined) {
        return [];
    }
    const brokers = deployment.kafka.standard?.brokers ?? 0;
    const disks = Array.from({ length: brokers }, (_, index) =>
        ofAws('AWS/Kafka', 'KafkaDataLogsDiskUsed', { 'Cluster Name': cluster, 'Broker ID': String(index + 1) }, 'Maximum'),
    );
    const worst = new cloudwatch.MathExpression({
        expression: 'MAX(METRICS())',
        usingMetrics: Object.fromEntries(disks.map((disk, index) => [`d${index}`, disk])),
        label: 'fullest broker',
        period: MINUTE,
    });
    const disk: AlarmSpec = {
        name: 'DL-1-broker-disk',
        means: 'A broker disk is filling up; when it is full nothing is accepted.',
        remedy: 'Raise kafka.standard.storage_gb and deploy (online, once in six hours), or shorten retention.ms of howk.results.',
        metric: worst,
        threshold: 75,
        minutes: 5,
    };
    return [
        {
            name: 'DL-1-offline-partitions',
            means: 'Partitions have no leader: webhooks of these partitions are neither accepted nor delivered.',
            remedy: 'See the cluster in the MSK console; brokers come back by themselves, or open a case with AWS.',
            metric: ofAws('AWS/Kafka', 'OfflinePartitionsCount', { 'Cluster Name': cluster }, 'Maximum'),
            threshold: 0,
            minutes: 3,
        },
        ...(brokers > 0 ? [disk] : []),
    ];
}

function ofCache({ data }: Watched): AlarmSpec[] {
    const { cache } = data;
    if (!cache.isMonitored) {
        return [];
    }
    if (cache.isServerless) {
        return [
            {
                name: 'RB-1-cache-throttled',
                means: 'The cache refuses commands: it is at its limit of ECPU.',
                remedy: 'Raise cache.serverless.ecpu_per_second_max and deploy.',
                metric: ofAws('AWS/ElastiCache', 'ThrottledCmds', { clusterId: cache.cacheName }),
                threshold: 0,
                minutes: 5,
            },
            {
                name: 'RB-1-cache-evictions',
                means: 'The cache evicts keys: it is at its limit of storage, and hot state goes missing.',
                remedy: 'Raise cache.serverless.storage_gb_max and deploy, then invoke reconciler with {"force": true}.',
                metric: ofAws('AWS/ElastiCache', 'Evictions', { clusterId: cache.cacheName }),
                threshold: 0,
                minutes: 1,
            },
        ];
    }
    return [
        {
            name: 'RB-1-cache-memory',
            means: 'The cache is filling up; when it is full it refuses writes, webhooks are not sent and their records are redelivered.',
            remedy: 'Raise cache.replication_group.shards or node and deploy.',
            metric: ofAws('AWS/ElastiCache', 'DatabaseMemoryUsagePercentage', { ReplicationGroupId: cache.cacheName }, 'Maximum'),
            threshold: 75,
            minutes: 5,
        },
    ];
}

function ofAws(
    namespace: string,
    metricName: string,
    dimensionsMap: Record<string, string>,
    statistic = 'Sum',
): cloudwatch.Metric {
    return new cloudwatch.Metric({ namespace, metricName, dimensionsMap, statistic, period: MINUTE });
}
