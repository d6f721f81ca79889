// The five functions, each with a role, a security group and variables of its own.

import { Duration, Stack } from 'aws-cdk-lib';
import type * as ec2 from 'aws-cdk-lib/aws-ec2';
import type * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { CACHE_PORT } from './cache.ts';
import { type FunctionSpec, FUNCTIONS, LANE_SOURCES, writesOf } from './catalogue.ts';
import { codeOf } from './code.ts';
import type { DataStack } from './data-stack.ts';
import { environmentOf } from './environment.ts';
import { list } from './function-list.ts';
import * as grants from './grants.ts';
import { KAFKA_PORT } from './kafka.ts';
import { logGroup } from './log-group.ts';
import { allow, anywhere, ENDPOINT_PORT, securityGroup } from './network.ts';
import { vpcRole } from './role.ts';
import { type Deployment, type FunctionName, type LaneName, isPartial } from './settings/deployment.ts';
import { valueOf } from './settings/own.ts';

export interface FunctionsProps {
    readonly deployment: Deployment;
    readonly data: DataStack;
}

export class Functions extends Construct {
    readonly all: Readonly<Record<FunctionName, lambda.Function>>;
    /** What an asynchronous invocation failed to do. */
    readonly deadLetters: sqs.Queue;

    constructor(scope: Construct, props: FunctionsProps) {
        super(scope, 'Functions');
        this.deadLetters = new sqs.Queue(this, 'DeadLetters', {
            queueName: `${props.deployment.name}-dead-letters`,
            encryption: sqs.QueueEncryption.SQS_MANAGED,
            enforceSSL: true,
            retentionPeriod: Duration.days(14),
        });
        const built = FUNCTIONS.map((spec) => [spec.name, new HowkFunction(this, spec, props).function] as const);
        this.all = Object.fromEntries(built) as Record<FunctionName, lambda.Function>;
        for (const { name, retries, event_age_ms } of list.functions) {
            if (retries === undefined || event_age_ms === undefined) {
                continue;
            }
            // A tick that is late is worth nothing: the next one does its work.
            this.all[name].configureAsyncInvoke({
                retryAttempts: retries,
                maxEventAge: Duration.millis(event_age_ms),
                // CDK's own destination would also let the function read the queue's attributes.
                onFailure: { bind: () => ({ destination: this.deadLetters.queueArn }) },
            });
            this.all[name].addToRolePolicy(grants.statementForDeadLetters(this.deadLetters.queueArn));
        }
    }
}

class HowkFunction extends Construct {
    readonly function: lambda.Function;

    constructor(scope: Construct, spec: FunctionSpec, props: FunctionsProps) {
        super(scope, spec.name);
        const { deployment, data } = props;
        const functionName = `${deployment.name}-${spec.name}`;
        const { memory, timeout } = deployment.functions[spec.name];
        const log = logGroup(this, 'Log', { deployment, key: data.secrets.key, name: spec.name });
        const role = vpcRole(this, { functionName, log });
        this.statements(spec, props).forEach((statement) => role.addToPolicy(statement));
        this.function = new lambda.Function(this, 'Function', {
            functionName,
            description: spec.description,
            code: codeOf(this, spec.name),
            handler: 'bootstrap',
            runtime: lambda.Runtime.PROVIDED_AL2023,
            architecture: lambda.Architecture.ARM_64,
            memorySize: memory,
            timeout: Duration.seconds(timeout),
            environment: environmentOf(spec, deployment, data),
            role,
            logGroup: log,
            tracing: lambda.Tracing.ACTIVE,
            vpc: data.network.vpc,
            vpcSubnets: { subnets: spec.calls ? data.network.egress : data.network.isolated },
            securityGroups: [this.connections(spec, data)],
            ...reserved(spec.name, deployment),
        });
    }

    /** What the function's packets may reach: what its adapters talk to. */
    private connections(spec: FunctionSpec, { network, kafka, cache }: DataStack): ec2.SecurityGroup {
        const group = securityGroup(this, 'Group', network.vpc, spec.name);
        if (spec.adapters.includes('log-kafka')) {
            allow(this, group, { group: kafka.securityGroup, port: KAFKA_PORT, name: 'Kafka' });
        }
        if (spec.adapters.includes('store-redis')) {
            allow(this, group, { group: cache.securityGroup, port: CACHE_PORT, name: 'Cache' });
        }
        if (network.endpoints !== undefined) {
            allow(this, group, { group: network.endpoints, port: ENDPOINT_PORT, name: 'Apis' });
        }
        if (spec.calls) {
            anywhere(this, group);
        }
        return group;
    }

    /** What the function may do: what its adapters do, and its pollers for it. */
    private statements(spec: FunctionSpec, { deployment, data }: FunctionsProps): iam.PolicyStatement[] {
        const { kafka, cache, secrets } = data;
        const { region } = Stack.of(this);
        const lane = spec.name in LANE_SOURCES ? (spec.name as LaneName) : undefined;
        const republishes = lane !== undefined && !isPartial(deployment.functions[lane]);
        const use = {
            ...spec,
            writes: writesOf(spec, republishes),
            watches: spec.watches.map((name) => groupOf(name, deployment)),
        };
        const read = spec.secrets.map((name) => secrets.secrets[name].secretArn);
        return [
            ...(spec.adapters.includes('log-kafka') ? grants.statementsForKafka(kafka.arns, use) : []),
            ...(lane ? grants.statementsForPollers(kafka.arns, LANE_SOURCES[lane].topic, groupOf(lane, deployment)) : []),
            ...(spec.adapters.includes('store-redis') ? [grants.statementForCache(cache.cacheArn, cache.userArn)] : []),
            ...grants.statementsForSecrets(read, secrets.key.keyArn, region),
        ];
    }
}

/** The consumer group of a lane. */
export function groupOf(lane: LaneName, { howk }: Deployment): string {
    return `${valueOf(howk, 'kafka.consumer_group')}${LANE_SOURCES[lane].suffix}`;
}

function reserved(name: FunctionName, { functions }: Deployment): { reservedConcurrentExecutions?: number } {
    switch (name) {
        case 'enqueue':
            // Bounds the connections to Kafka and Redis in a burst.
            return { reservedConcurrentExecutions: functions.enqueue.reserved_concurrency };
        case 'scheduler':
        case 'reconciler':
            return { reservedConcurrentExecutions: 1 };
        default:
            // As many as there are partitions to read, at most.
            return {};
    }
}
