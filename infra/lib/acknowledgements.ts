// Findings of cdk-nag that stand, each with the reason why. A test fails on one that finds nothing any more.

import { Validations } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

export interface Acknowledgement {
    readonly id: string;
    /** The paths of the constructs that it is about, below their stack. */
    readonly at: RegExp;
    readonly reason: string;
}

export const ACKNOWLEDGEMENTS: readonly Acknowledgement[] = [
    {
        id: 'AwsSolutions::AwsSolutions-SMG4',
        at: /^Secrets\/(SealingKey|ApiKeys)\/Resource$/,
        reason:
            'Rotation on a timer would make sealed webhooks that still wait unreadable, and keys of callers invalid without ' +
            'their knowing. README.md says how an operator rotates both.',
    },
    {
        id: 'AwsSolutions::AwsSolutions-IAM5[Resource::*]',
        at: /^(Functions\/[a-z-]+|Topics)\/Role\/DefaultPolicy\/Resource$/,
        reason:
            'EC2 network interface actions and X-Ray have no narrower resource. A deny keeps the interfaces from the ' +
            "function's own code, so only the platform uses them.",
    },
    {
        id: 'AwsSolutions::AwsSolutions-APIG4',
        at: /^Api\/Http\/DefaultRoute\/Resource$/,
        reason:
            'enqueue checks the keys of tenants itself (api.auth keys, set by this stack): which config ids a key may use is ' +
            "nothing that the API's own authorizers know, and /health needs no key.",
    },
    {
        id: 'AwsSolutions::AwsSolutions-SQS3',
        at: /^Functions\/DeadLetters\/Resource$/,
        reason: 'It is the dead-letter queue: of the asynchronous invocations and of the schedules, which cdk-nag does not see.',
    },
    {
        id: 'Serverless::Serverless-SQSRedrivePolicy',
        at: /^Functions\/DeadLetters\/Resource$/,
        reason: 'It is the dead-letter queue; what stands in it is looked at by a person (alarm DL-1-dead-letter-queue).',
    },
    {
        id: 'Serverless::Serverless-LambdaDLQ',
        at: /^Functions\/[a-z-]+\/Function\/Resource$/,
        reason:
            'scheduler and reconciler, which are invoked asynchronously, have an on-failure destination instead. The others ' +
            'are invoked synchronously, where a dead-letter target does nothing.',
    },
    {
        id: 'Serverless::Serverless-LambdaEventSourceMappingDestination',
        at: /^EventSources\/[a-z-]+\/Resource$/,
        reason:
            'With a destination and unlimited attempts Lambda gives up after 10 attempts. No record may be given up (DL-1): ' +
            'what howk cannot do comes again, and what a receiver refuses goes to howk.deadletter by howk itself.',
    },
    {
        id: 'AwsSolutions::AwsSolutions-AEC6',
        at: /^Cache\/Replicated$/,
        reason: 'Users log in with IAM, whose tokens last 15 minutes; a password that never ends (AUTH) is what it replaces.',
    },
    {
        id: 'Serverless::Serverless-SNSRedrivePolicy',
        at: /^Alarms\/Topic\/[^/]+\/Resource$/,
        reason: 'A mail that does not arrive is not worth keeping: the alarm stands on the dashboard until it is over.',
    },
    {
        id: 'Serverless::Serverless-LambdaDLQ',
        at: /^Topics\/(Function|Provider\/framework-onEvent)\/Resource$/,
        reason: 'Invoked by CloudFormation during a deployment, which shows what it says and rolls back.',
    },
    {
        id: 'AwsSolutions::AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole]',
        at: /^Topics\/Provider\/framework-onEvent\/ServiceRole\/Resource$/,
        reason: "CDK's own function, which speaks CloudFormation's protocol for the topics; it only writes its log.",
    },
    {
        id: 'AwsSolutions::AwsSolutions-IAM5[Resource::<TopicsFunctionCAC0DE19.Arn>:*]',
        at: /^Topics\/Provider\/framework-onEvent\/ServiceRole\/DefaultPolicy\/Resource$/,
        reason: "CDK's own function may invoke every version of the one function that makes topics.",
    },
    {
        id: 'Serverless::Serverless-LambdaDefaultMemorySize',
        at: /^Topics\/Provider\/framework-onEvent\/Resource$/,
        reason: "CDK's own function forwards one request per deployment; 128 MB are enough.",
    },
    {
        id: 'Serverless::Serverless-LambdaTracing',
        at: /^Topics\/Provider\/framework-onEvent\/Resource$/,
        reason: "CDK's own function cannot be told to trace; it runs during deployments only.",
    },
];

/** Acknowledges what the table says, where it says so. */
export function acknowledge(app: IConstruct): void {
    for (const construct of app.node.findAll()) {
        const path = construct.node.path.split('/').slice(1).join('/');
        const standing = ACKNOWLEDGEMENTS.filter(({ at }) => at.test(path)).map(({ id, reason }) => ({ id, reason }));
        if (standing.length > 0) {
            Validations.of(construct).acknowledge(...standing);
        }
    }
}
