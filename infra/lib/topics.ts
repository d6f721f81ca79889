// The topics of topics.json: AWS::MSK::Topic, or a custom resource where that does not exist (MSK Serverless).

import { CustomResource, Duration } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';
import * as msk from 'aws-cdk-lib/aws-msk';
import { Provider } from 'aws-cdk-lib/custom-resources';
import { Construct } from 'constructs';
import { fileURLToPath } from 'node:url';
import * as grants from './grants.ts';
import { type Kafka, KAFKA_PORT, type KafkaProps, removal } from './kafka.ts';
import { logGroup } from './log-group.ts';
import { allow, ENDPOINT_PORT, securityGroup } from './network.ts';
import { vpcRole } from './role.ts';
import { configFor, topics } from './topic-list.ts';

/** Replicas of a topic on a provisioned cluster: one per zone. */
const REPLICAS = 3;

export class Topics extends Construct {
    constructor(scope: Construct, kafka: Kafka, props: KafkaProps) {
        super(scope, 'Topics');
        if (props.deployment.kafka.existing?.topics === 'present') {
            return;
        }
        if (kafka.kind === 'serverless') {
            this.ensure(kafka, props);
        } else {
            this.declare(kafka, props);
        }
    }

    private declare(kafka: Kafka, { deployment }: KafkaProps): void {
        const { kind } = kafka;
        for (const topic of topics) {
            const lines = Object.entries(configFor(topic, kind)).map(([name, value]) => `${name}=${value}\n`);
            const made = new msk.CfnTopic(this, topic.name, {
                clusterArn: kafka.arns.cluster,
                topicName: topic.name,
                partitionCount: topic.partitions,
                replicationFactor: REPLICAS,
                configs: Buffer.from(lines.join('')).toString('base64'),
            });
            made.applyRemovalPolicy(removal(deployment));
        }
    }

    /** Makes missing topics, verifies existing ones, deletes none. */
    private ensure(kafka: Kafka, { deployment, network, key }: KafkaProps): void {
        const name = `${deployment.name}-topics`;
        const group = securityGroup(this, 'Group', network.vpc, 'topics');
        allow(this, group, { group: kafka.securityGroup, port: KAFKA_PORT, name: 'Kafka' });
        if (network.endpoints !== undefined) {
            allow(this, group, { group: network.endpoints, port: ENDPOINT_PORT, name: 'Apis' });
        }
        const log = logGroup(this, 'Log', { deployment, key, name: 'topics' });
        const role = vpcRole(this, { functionName: name, log });
        grants.statementsForTopics(kafka.arns, topics).forEach((statement) => role.addToPolicy(statement));
        const onEvent = new NodejsFunction(this, 'Function', {
            functionName: name,
            description: 'Makes and verifies the topics of topics.json; deletes nothing',
            entry: fileURLToPath(new URL('serverless-topics/handler.ts', import.meta.url)),
            runtime: lambda.Runtime.NODEJS_24_X,
            architecture: lambda.Architecture.ARM_64,
            bundling: { format: OutputFormat.ESM, target: 'node24', mainFields: ['module', 'main'], banner: REQUIRE },
            depsLockFilePath: fileURLToPath(new URL('../package-lock.json', import.meta.url)),
            memorySize: 256,
            timeout: Duration.minutes(2),
            role,
            logGroup: log,
            tracing: lambda.Tracing.ACTIVE,
            vpc: network.vpc,
            vpcSubnets: { subnets: network.isolated },
            securityGroups: [group],
        });
        const provider = new Provider(this, 'Provider', {
            onEventHandler: onEvent,
            providerFunctionName: `${name}-provider`,
            logGroup: logGroup(this, 'ProviderLog', { deployment, key, name: 'topics-provider' }),
        });
        const ensured = new CustomResource(this, 'Ensured', {
            serviceToken: provider.serviceToken,
            resourceType: 'Custom::HowkTopics',
            properties: {
                clusterArn: kafka.arns.cluster,
                topics: topics.map((topic) => ({ ...topic, config: configFor(topic, 'serverless') })),
            },
        });
        ensured.node.addDependency(role);
    }
}

/** What CommonJS packages need inside an ES module. */
const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";
