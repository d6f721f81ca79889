// The key that encrypts everything at rest, and the secrets that functions read at their start.
//
// No secret stands in a function's environment: it holds the secret's ARN, and the function asks Secrets Manager.

import { RemovalPolicy, SecretValue, Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as kms from 'aws-cdk-lib/aws-kms';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import { logPrefix } from './log-group.ts';
import type { Deployment } from './settings/deployment.ts';

/** Settings that are secrets, by the part of a function that needs them. */
export type SecretName = 'secrets.key' | 'api.keys';

/** A placeholder whose key does not exist, so that every call is refused until the operator writes keys. It is no secret. */
const PLACEHOLDER = JSON.stringify({ placeholder: { hash: '0'.repeat(64), config_ids: ['placeholder'] } });

export class Secrets extends Construct {
    readonly key: kms.Key;
    readonly secrets: Readonly<Record<SecretName, secretsmanager.Secret>>;

    constructor(scope: Construct, deployment: Deployment) {
        super(scope, 'Secrets');
        const removalPolicy = deployment.keep_data ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY;
        this.key = new kms.Key(this, 'Key', {
            description: `howk ${deployment.name}: everything at rest`,
            alias: `alias/${deployment.name}`,
            enableKeyRotation: true,
            removalPolicy,
        });
        this.letServicesUseKey(deployment);
        const secret = (id: string, name: string, props: secretsmanager.SecretProps) =>
            new secretsmanager.Secret(this, id, {
                secretName: `${deployment.name}/${name}`,
                encryptionKey: this.key,
                removalPolicy,
                ...props,
            });
        this.secrets = {
            'secrets.key': secret('SealingKey', 'secrets-key', {
                description: 'secrets.key: what signing secrets and headers are sealed with',
                generateSecretString: { passwordLength: 43, excludePunctuation: true },
            }),
            'api.keys': secret('ApiKeys', 'api-keys', {
                description: 'api.keys: hashes of the keys of callers, as JSON',
                secretStringValue: SecretValue.unsafePlainText(PLACEHOLDER),
            }),
        };
    }

    private letServicesUseKey(deployment: Deployment): void {
        const { account, partition, region } = Stack.of(this);
        this.key.addToResourcePolicy(
            new iam.PolicyStatement({
                sid: 'Logs',
                principals: [new iam.ServicePrincipal(`logs.${region}.amazonaws.com`)],
                actions: ['kms:Encrypt', 'kms:Decrypt', 'kms:GenerateDataKey', 'kms:DescribeKey'],
                resources: ['*'],
                conditions: {
                    ArnLike: {
                        'kms:EncryptionContext:aws:logs:arn': `arn:${partition}:logs:${region}:${account}:log-group:${logPrefix(deployment)}*`,
                    },
                },
            }),
        );
        this.key.addToResourcePolicy(
            new iam.PolicyStatement({
                sid: 'Alarms',
                principals: [new iam.ServicePrincipal('cloudwatch.amazonaws.com')],
                actions: ['kms:Decrypt', 'kms:GenerateDataKey'],
                resources: ['*'],
                conditions: { StringEquals: { 'aws:SourceAccount': account } },
            }),
        );
    }
}
