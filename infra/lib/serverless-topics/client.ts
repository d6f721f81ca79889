// Kafka's admin protocol, signed in with the function's role.

import { GetBootstrapBrokersCommand, KafkaClient as Msk } from '@aws-sdk/client-kafka';
import { generateAuthToken } from 'aws-msk-iam-sasl-signer-js';
import kafkajs, { type Admin, type KafkaConfig } from 'kafkajs';
import type { FoundTopic, TopicAdmin, TopicSpec } from './ensure.ts';

export class KafkaClient implements TopicAdmin {
    private readonly admin: Admin;

    private constructor(admin: Admin) {
        this.admin = admin;
    }

    /** Signs in to the cluster of an ARN. */
    static async connect(clusterArn: string): Promise<KafkaClient> {
        const region = clusterArn.split(':')[3] ?? '';
        const response = await new Msk({ region }).send(new GetBootstrapBrokersCommand({ ClusterArn: clusterArn }));
        const brokers = (response.BootstrapBrokerStringSaslIam ?? '').split(',').filter((broker) => broker !== '');
        const oauthBearerProvider = async (): Promise<{ value: string }> => ({
            value: (await generateAuthToken({ region })).token,
        });
        return KafkaClient.to({ brokers, ssl: true, sasl: { mechanism: 'oauthbearer', oauthBearerProvider } });
    }

    static async to(config: KafkaConfig): Promise<KafkaClient> {
        const admin = new kafkajs.Kafka({ clientId: 'howk-topics', logLevel: kafkajs.logLevel.WARN, ...config }).admin();
        await admin.connect();
        return new KafkaClient(admin);
    }

    async find(names: readonly string[]): Promise<ReadonlyMap<string, FoundTopic>> {
        const there = new Set(await this.admin.listTopics());
        const topics = names.filter((name) => there.has(name));
        if (topics.length === 0) {
            return new Map();
        }
        const { topics: described } = await this.admin.fetchTopicMetadata({ topics });
        const { resources } = await this.admin.describeConfigs({
            includeSynonyms: false,
            resources: topics.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name })),
        });
        const configs = new Map(resources.map(({ resourceName, configEntries }) => [resourceName, configEntries]));
        return new Map(
            described.map(({ name, partitions }) => {
                const entries = configs.get(name) ?? [];
                const config = Object.fromEntries(entries.map(({ configName, configValue }) => [configName, configValue]));
                return [name, { partitions: partitions.length, config }];
            }),
        );
    }

    async create(topics: readonly TopicSpec[]): Promise<void> {
        await this.admin.createTopics({
            waitForLeaders: true,
            topics: topics.map(({ name, partitions, config }) => ({
                topic: name,
                numPartitions: partitions,
                configEntries: Object.entries(config).map(([key, value]) => ({ name: key, value })),
            })),
        });
    }

    async close(): Promise<void> {
        await this.admin.disconnect();
    }
}
