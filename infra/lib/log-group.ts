// Log groups: named, encrypted, kept for as long as the settings say.

import { RemovalPolicy } from 'aws-cdk-lib';
import type * as kms from 'aws-cdk-lib/aws-kms';
import * as logs from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import type { Deployment } from './settings/deployment.ts';

export interface LogGroupProps {
    readonly deployment: Deployment;
    readonly key: kms.IKey;
    readonly name: string;
}

/** Every log group of a deployment begins with this; the key's policy counts on it. */
export function logPrefix(deployment: Deployment): string {
    return `/howk/${deployment.name}/`;
}

export function logGroup(scope: Construct, id: string, props: LogGroupProps): logs.LogGroup {
    return new logs.LogGroup(scope, id, {
        logGroupName: `${logPrefix(props.deployment)}${props.name}`,
        retention: props.deployment.observability.log_days,
        encryptionKey: props.key,
        removalPolicy: RemovalPolicy.DESTROY,
    });
}
