// The custom resource that makes and verifies topics where CloudFormation cannot: on MSK Serverless.

import { KafkaClient } from './client.ts';
import { ensure, type TopicSpec } from './ensure.ts';

interface Request {
    readonly RequestType: 'Create' | 'Update' | 'Delete';
    readonly ResourceProperties: {
        readonly clusterArn: string;
        /** CloudFormation makes strings of numbers. */
        readonly topics: readonly (Omit<TopicSpec, 'partitions'> & { readonly partitions: number | string })[];
    };
}

export async function handler(request: Request): Promise<{ PhysicalResourceId: string }> {
    const { clusterArn, topics } = request.ResourceProperties;
    // Topics outlive their stack: deleting the cluster deletes them.
    if (request.RequestType !== 'Delete') {
        const client = await KafkaClient.connect(clusterArn);
        try {
            await ensure(
                client,
                topics.map((topic) => ({ ...topic, partitions: Number(topic.partitions) })),
            );
        } finally {
            await client.close();
        }
    }
    return { PhysicalResourceId: `${clusterArn}/topics` };
}
