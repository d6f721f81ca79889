// The HTTP API in front of enqueue. Enqueue itself checks the keys of callers.

import { CfnOutput } from 'aws-cdk-lib';
import * as apigateway from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import { Construct } from 'constructs';
import type { FunctionsProps } from './functions.ts';
import { logGroup } from './log-group.ts';

export class Api extends Construct {
    readonly http: apigateway.HttpApi;

    constructor(scope: Construct, enqueue: lambda.Function, { deployment, data }: FunctionsProps) {
        super(scope, 'Api');
        const { rate, burst, domain } = deployment.api;
        this.http = new apigateway.HttpApi(this, 'Http', {
            apiName: deployment.name,
            description: `howk ${deployment.name}`,
            createDefaultStage: false,
            defaultIntegration: new HttpLambdaIntegration(
                'Enqueue',
                this.served(enqueue, deployment.functions.enqueue.provisioned_concurrency),
            ),
        });
        const stage = this.http.addStage('Stage', {
            stageName: '$default',
            autoDeploy: true,
            throttle: { rateLimit: rate, burstLimit: burst },
            detailedMetricsEnabled: true,
            accessLogSettings: {
                destination: new apigateway.LogGroupLogDestination(
                    logGroup(this, 'Log', { deployment, key: data.secrets.key, name: 'api' }),
                ),
                format: AccessLogFormat.custom(ACCESS_LOG),
            },
        });
        new CfnOutput(this, 'Url', { value: this.http.apiEndpoint, description: 'Where callers post' });
        if (domain !== undefined) {
            this.name(domain, stage);
        }
    }

    /** With provisioned concurrency a version is invoked, since only versions are kept warm. */
    private served(enqueue: lambda.Function, provisioned: number): lambda.IFunction {
        return provisioned === 0
            ? enqueue
            : new lambda.Alias(this, 'Live', {
                  aliasName: 'live',
                  version: enqueue.currentVersion,
                  provisionedConcurrentExecutions: provisioned,
              });
    }

    private name(domain: { name: string; certificate_arn: string }, stage: apigateway.HttpStage): void {
        const named = new apigateway.DomainName(this, 'Domain', {
            domainName: domain.name,
            certificate: Certificate.fromCertificateArn(this, 'Certificate', domain.certificate_arn),
            securityPolicy: apigateway.SecurityPolicy.TLS_1_2,
        });
        new apigateway.ApiMapping(this, 'Mapping', { api: this.http, domainName: named, stage });
        new CfnOutput(this, 'DomainTarget', {
            value: named.regionalDomainName,
            description: `Point a CNAME of ${domain.name} here`,
        });
    }
}

/** One JSON object per request; nothing of its body or headers (SE-1). */
const ACCESS_LOG = JSON.stringify({
    requestId: '$context.requestId',
    time: '$context.requestTime',
    ip: '$context.identity.sourceIp',
    method: '$context.httpMethod',
    path: '$context.path',
    status: '$context.status',
    bytes: '$context.responseLength',
    took_ms: '$context.responseLatency',
    error: '$context.integrationErrorMessage',
});
