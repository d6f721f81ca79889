// The ARNs of what lives in a Kafka cluster, as IAM names them.

import { Fn } from 'aws-cdk-lib';

export class KafkaArns {
    /** arn:PARTITION:kafka:REGION:ACCOUNT:cluster/NAME/ID */
    readonly cluster: string;

    constructor(cluster: string) {
        this.cluster = cluster;
    }

    topic(name: string): string {
        return this.of('topic', name);
    }

    group(name: string): string {
        return this.of('group', name);
    }

    private of(kind: string, name: string): string {
        const [prefix, rest] = [0, 1].map((index) => Fn.select(index, Fn.split(':cluster/', this.cluster)));
        return `${prefix}:${kind}/${rest}/${name}`;
    }
}
