// What a function may do, statement by statement. Every action here is one that its code, or the platform for it, takes.

import * as iam from 'aws-cdk-lib/aws-iam';
import type { KafkaArns } from './kafka-arns.ts';
import type { Topic } from './topic-list.ts';

/** EC2 has no narrower resource for these, which the platform takes with a lane's role to place event pollers. */
export const POLLER_ACTIONS = ['ec2:DescribeSecurityGroups', 'ec2:DescribeVpcs'];

export interface KafkaUse {
    readonly writes: readonly string[];
    readonly reads: readonly string[];
    /** Consumer groups whose offsets are asked for. */
    readonly watches: readonly string[];
}

/** What the Kafka client of a function does. */
export function statementsForKafka(arns: KafkaArns, use: KafkaUse): iam.PolicyStatement[] {
    const onTopics = (sid: string, actions: string[], topics: readonly string[]): iam.PolicyStatement[] =>
        allowed(
            sid,
            actions,
            topics.map((topic) => arns.topic(topic)),
        );
    return [
        ...allowed('KafkaBrokers', ['kafka:GetBootstrapBrokers'], [arns.cluster]),
        ...allowed(
            'KafkaConnect',
            // The producer is idempotent.
            ['kafka-cluster:Connect', ...(use.writes.length > 0 ? ['kafka-cluster:WriteDataIdempotently'] : [])],
            [arns.cluster],
        ),
        ...onTopics('KafkaWrite', ['kafka-cluster:DescribeTopic', 'kafka-cluster:WriteData'], use.writes),
        ...onTopics('KafkaRead', ['kafka-cluster:DescribeTopic', 'kafka-cluster:ReadData'], use.reads),
        ...allowed(
            'KafkaWatch',
            ['kafka-cluster:DescribeGroup'],
            use.watches.map((group) => arns.group(group)),
        ),
    ];
}

/** What the event pollers of a lane do with its role. */
export function statementsForPollers(arns: KafkaArns, topic: string, group: string): iam.PolicyStatement[] {
    return [
        ...allowed('PollersCluster', ['kafka:DescribeCluster', 'kafka:DescribeClusterV2'], [arns.cluster]),
        ...allowed('PollersConnect', ['kafka-cluster:DescribeClusterDynamicConfiguration'], [arns.cluster]),
        ...allowed('PollersTopic', ['kafka-cluster:DescribeTopic', 'kafka-cluster:ReadData'], [arns.topic(topic)]),
        ...allowed('PollersGroup', ['kafka-cluster:AlterGroup', 'kafka-cluster:DescribeGroup'], [arns.group(group)]),
        ...allowed('PollersNetwork', POLLER_ACTIONS, ['*']),
    ];
}

/** What the custom resource of the topics does: it makes and reads, and cannot delete. */
export function statementsForTopics(arns: KafkaArns, topics: readonly Topic[]): iam.PolicyStatement[] {
    return [
        ...allowed('KafkaBrokers', ['kafka:GetBootstrapBrokers'], [arns.cluster]),
        ...allowed('KafkaConnect', ['kafka-cluster:Connect'], [arns.cluster]),
        ...allowed(
            'KafkaTopics',
            ['kafka-cluster:CreateTopic', 'kafka-cluster:DescribeTopic', 'kafka-cluster:DescribeTopicDynamicConfiguration'],
            topics.map(({ name }) => arns.topic(name)),
        ),
    ];
}

/** What the platform does with the role of a function whose asynchronous invocation failed. */
export function statementForDeadLetters(queueArn: string): iam.PolicyStatement {
    return new iam.PolicyStatement({ sid: 'DeadLetters', actions: ['sqs:SendMessage'], resources: [queueArn] });
}

export function statementForCache(cacheArn: string, userArn: string): iam.PolicyStatement {
    return new iam.PolicyStatement({ sid: 'Cache', actions: ['elasticache:Connect'], resources: [cacheArn, userArn] });
}

/** Reading secrets, and the key that they are encrypted with, through Secrets Manager only. */
export function statementsForSecrets(secrets: readonly string[], key: string, region: string): iam.PolicyStatement[] {
    if (secrets.length === 0) {
        return [];
    }
    return [
        ...allowed('Secrets', ['secretsmanager:GetSecretValue'], secrets),
        new iam.PolicyStatement({
            sid: 'SecretsKey',
            actions: ['kms:Decrypt'],
            resources: [key],
            conditions: { StringEquals: { 'kms:ViaService': `secretsmanager.${region}.amazonaws.com` } },
        }),
    ];
}

/** A statement, or none when it would be about nothing. */
function allowed(sid: string, actions: readonly string[], resources: readonly string[]): iam.PolicyStatement[] {
    return resources.length === 0 ? [] : [new iam.PolicyStatement({ sid, actions: [...actions], resources: [...resources] })];
}
