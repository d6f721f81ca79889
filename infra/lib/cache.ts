// The hot state: ElastiCache for Valkey, serverless or a replication group, or an existing cache. Log-in is IAM's.

import { Stack } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as elasticache from 'aws-cdk-lib/aws-elasticache';
import { Construct } from 'constructs';
import { type KafkaProps, removal } from './kafka.ts';
import { securityGroup } from './network.ts';
import type { Deployment, ReplicationGroup } from './settings/deployment.ts';

export const CACHE_PORT = 6379;

/** What howk does with Redis: its keys, its scripts, and finding the nodes. Nothing that is dangerous. */
const ACCESS = 'on ~* -@all +@read +@write +@scripting +@connection -@dangerous +cluster|slots +cluster|shards';

export class Cache extends Construct {
    readonly securityGroup: ec2.ISecurityGroup;
    /** HOST:PORT */
    readonly address: string;
    /** The id of the replication group, or the name of the serverless cache. */
    readonly cacheName: string;
    readonly user: string;
    readonly isServerless: boolean;
    /** Whether its metrics are ours to alarm on. */
    readonly isMonitored: boolean;

    constructor(scope: Construct, props: KafkaProps) {
        super(scope, 'Cache');
        const { deployment, network } = props;
        const { existing, replication_group: group } = deployment.cache;
        this.isServerless = existing?.serverless ?? group === undefined;
        this.isMonitored = existing === undefined;
        this.user = existing?.user ?? deployment.name;
        this.cacheName = existing?.cache_name ?? deployment.name;
        if (existing !== undefined) {
            this.securityGroup = ec2.SecurityGroup.fromSecurityGroupId(this, 'Group', existing.security_group_id);
            this.address = existing.address;
            return;
        }
        this.securityGroup = securityGroup(this, 'Group', network.vpc, 'cache');
        const users = this.users(deployment);
        this.address = group === undefined ? this.serverless(props, users) : this.replicated(props, users, group);
    }

    get cacheArn(): string {
        const resource = this.isServerless ? 'serverlesscache' : 'replicationgroup';
        return this.arn(resource, this.cacheName);
    }

    get userArn(): string {
        return this.arn('user', this.user);
    }

    private arn(resource: string, name: string): string {
        const { partition, region, account } = Stack.of(this);
        return `arn:${partition}:elasticache:${region}:${account}:${resource}:${name}`;
    }

    private users(deployment: Deployment): elasticache.CfnUserGroup {
        const user = new elasticache.CfnUser(this, 'User', {
            engine: 'valkey',
            userId: this.user,
            userName: this.user,
            authenticationMode: { Type: 'iam' },
            accessString: ACCESS,
        });
        const users = new elasticache.CfnUserGroup(this, 'Users', {
            engine: 'valkey',
            userGroupId: deployment.name,
            userIds: [user.ref],
        });
        return users;
    }

    private serverless({ deployment, network, key }: KafkaProps, users: elasticache.CfnUserGroup): string {
        const limits = deployment.cache.serverless ?? { storage_gb_max: 1, ecpu_per_second_max: 1000 };
        const cache = new elasticache.CfnServerlessCache(this, 'Serverless', {
            serverlessCacheName: this.cacheName,
            description: `howk ${deployment.name}: hot state`,
            engine: 'valkey',
            majorEngineVersion: '8',
            cacheUsageLimits: {
                dataStorage: { maximum: limits.storage_gb_max, unit: 'GB' },
                ecpuPerSecond: { maximum: limits.ecpu_per_second_max },
            },
            kmsKeyId: key.keyArn,
            securityGroupIds: [this.securityGroup.securityGroupId],
            subnetIds: network.isolated.map(({ subnetId }) => subnetId),
            userGroupId: users.ref,
        });
        cache.applyRemovalPolicy(removal(deployment));
        return `${cache.attrEndpointAddress}:${cache.attrEndpointPort}`;
    }

    private replicated(
        { deployment, network, key }: KafkaProps,
        users: elasticache.CfnUserGroup,
        { node, shards, replicas, durability }: ReplicationGroup,
    ): string {
        const subnets = new elasticache.CfnSubnetGroup(this, 'Subnets', {
            cacheSubnetGroupName: deployment.name,
            description: `howk ${deployment.name}`,
            subnetIds: network.isolated.map(({ subnetId }) => subnetId),
        });
        // What cannot be kept is refused, never evicted: a webhook that waits is not a cache entry.
        const parameters = new elasticache.CfnParameterGroup(this, 'Parameters', {
            cacheParameterGroupFamily: 'valkey9',
            description: `howk ${deployment.name}`,
            properties: { 'cluster-enabled': 'yes', 'maxmemory-policy': 'noeviction' },
        });
        const cache = new elasticache.CfnReplicationGroup(this, 'Replicated', {
            replicationGroupId: this.cacheName,
            replicationGroupDescription: `howk ${deployment.name}: hot state`,
            engine: 'valkey',
            engineVersion: '9.0',
            cacheNodeType: node,
            numNodeGroups: shards,
            replicasPerNodeGroup: replicas,
            durability,
            automaticFailoverEnabled: true,
            multiAzEnabled: true,
            port: CACHE_PORT,
            atRestEncryptionEnabled: true,
            transitEncryptionEnabled: true,
            kmsKeyId: key.keyArn,
            cacheSubnetGroupName: subnets.ref,
            cacheParameterGroupName: parameters.ref,
            securityGroupIds: [this.securityGroup.securityGroupId],
            userGroupIds: [users.ref],
        });
        cache.applyRemovalPolicy(removal(deployment));
        return `${cache.attrConfigurationEndPointAddress}:${cache.attrConfigurationEndPointPort}`;
    }
}
