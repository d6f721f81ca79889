// The log: an MSK cluster of one of three kinds, or an existing one.

import { RemovalPolicy } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import type * as kms from 'aws-cdk-lib/aws-kms';
import * as msk from 'aws-cdk-lib/aws-msk';
import { Construct } from 'constructs';
import { KafkaArns } from './kafka-arns.ts';
import { logGroup } from './log-group.ts';
import { type Network, securityGroup } from './network.ts';
import type { Deployment, ExpressKafka } from './settings/deployment.ts';

/** The port of the IAM listener. */
export const KAFKA_PORT = 9098;

export type KafkaKind = 'standard' | 'express' | 'serverless';

export interface KafkaProps {
    readonly deployment: Deployment;
    readonly network: Network;
    readonly key: kms.IKey;
}

export class Kafka extends Construct {
    readonly arns: KafkaArns;
    readonly kind: KafkaKind;
    readonly securityGroup: ec2.ISecurityGroup;
    /** Its name in AWS/Kafka metrics; undefined where the cluster is someone else's, or serverless and without brokers. */
    readonly monitored: string | undefined;

    constructor(scope: Construct, props: KafkaProps) {
        super(scope, 'Kafka');
        const { standard, express, serverless, existing } = props.deployment.kafka;
        if (existing !== undefined) {
            this.kind = 'standard';
            this.arns = new KafkaArns(existing.cluster_arn);
            this.securityGroup = ec2.SecurityGroup.fromSecurityGroupId(this, 'Brokers', existing.security_group_id);
            return;
        }
        const group = securityGroup(this, 'Brokers', props.network.vpc, 'Kafka brokers');
        // Event pollers live in the cluster's own security group.
        group.addIngressRule(group, ec2.Port.tcp(KAFKA_PORT), 'event pollers');
        group.addEgressRule(group, ec2.Port.tcp(KAFKA_PORT), 'event pollers');
        this.securityGroup = group;
        if (serverless !== undefined) {
            this.kind = 'serverless';
            this.arns = new KafkaArns(this.serverless(props, group).attrArn);
            return;
        }
        this.kind = express === undefined ? 'standard' : 'express';
        this.monitored = props.deployment.name;
        const cluster = this.provisioned(props, group, express ?? standard);
        this.arns = new KafkaArns(cluster.attrArn);
    }

    private serverless({ deployment, network }: KafkaProps, group: ec2.SecurityGroup): msk.CfnServerlessCluster {
        const cluster = new msk.CfnServerlessCluster(this, 'Cluster', {
            clusterName: deployment.name,
            clientAuthentication: { sasl: { iam: { enabled: true } } },
            vpcConfigs: [{ subnetIds: ids(network), securityGroups: [group.securityGroupId] }],
        });
        cluster.applyRemovalPolicy(removal(deployment));
        return cluster;
    }

    private provisioned(props: KafkaProps, group: ec2.SecurityGroup, sizes: ExpressKafka | undefined): msk.CfnCluster {
        const { deployment, network, key } = props;
        const { standard } = deployment.kafka;
        const { instance, brokers, version } = sizes ?? { instance: '', brokers: 0, version: '' };
        const configuration = this.configuration(deployment, version);
        const log = logGroup(this, 'Log', { deployment, key, name: 'kafka' });
        const cluster = new msk.CfnCluster(this, 'Cluster', {
            clusterName: deployment.name,
            kafkaVersion: version,
            numberOfBrokerNodes: brokers,
            brokerNodeGroupInfo: {
                instanceType: `${this.kind === 'express' ? 'express' : 'kafka'}.${instance}`,
                clientSubnets: ids(network),
                securityGroups: [group.securityGroupId],
                ...(standard && { storageInfo: { ebsStorageInfo: { volumeSize: standard.storage_gb } } }),
            },
            clientAuthentication: { sasl: { iam: { enabled: true } }, unauthenticated: { enabled: false } },
            configurationInfo: { arn: configuration.attrArn, revision: configuration.attrLatestRevisionRevision },
            encryptionInfo: {
                encryptionAtRest: { dataVolumeKmsKeyId: key.keyArn },
                encryptionInTransit: { clientBroker: 'TLS', inCluster: true },
            },
            enhancedMonitoring: 'PER_BROKER',
            loggingInfo: { brokerLogs: { cloudWatchLogs: { enabled: true, logGroup: log.logGroupName } } },
        });
        cluster.applyRemovalPolicy(removal(deployment));
        return cluster;
    }

    private configuration(deployment: Deployment, version: string): msk.CfnConfiguration {
        // Express fixes replication itself.
        const replication = ['default.replication.factor=3', 'min.insync.replicas=2', 'unclean.leader.election.enable=false'];
        const properties = ['auto.create.topics.enable=false', ...(this.kind === 'standard' ? replication : [])];
        return new msk.CfnConfiguration(this, 'Configuration', {
            name: deployment.name,
            kafkaVersionsList: [version],
            serverProperties: properties.join('\n'),
        });
    }
}

function ids(network: Network): string[] {
    return network.isolated.map(({ subnetId }) => subnetId);
}

/** What becomes of data when its stack goes. */
export function removal(deployment: Deployment): RemovalPolicy {
    return deployment.keep_data ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY;
}
