// What lasts: network, log, hot state, key and secrets. The functions come and go without it.

import { Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { Cache } from './cache.ts';
import { Kafka } from './kafka.ts';
import { Network } from './network.ts';
import { Secrets } from './secrets.ts';
import type { Deployment } from './settings/deployment.ts';
import { Topics } from './topics.ts';

export class DataStack extends Stack {
    readonly secrets: Secrets;
    readonly network: Network;
    readonly kafka: Kafka;
    readonly topics: Topics;
    readonly cache: Cache;

    constructor(scope: Construct, deployment: Deployment, props: StackProps) {
        super(scope, `${deployment.name}-data`, { ...props, terminationProtection: deployment.keep_data });
        this.secrets = new Secrets(this, deployment);
        this.network = new Network(this, { deployment, key: this.secrets.key });
        const parts = { deployment, network: this.network, key: this.secrets.key };
        this.kafka = new Kafka(this, parts);
        this.topics = new Topics(this, this.kafka, parts);
        this.cache = new Cache(this, parts);
    }
}
