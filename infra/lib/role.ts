// Execution roles: nothing but what every function in a VPC needs.
//
// AWS's managed policies for it name every log group and let the function's own code manage network interfaces. Here the
// log group is named, and a deny keeps the interfaces to the platform. CDK adds X-Ray's two actions to whatever is traced.

import { ArnFormat, Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import type * as logs from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';

/** EC2 has no narrower resource for these. */
export const INTERFACE_ACTIONS = [
    'ec2:AssignPrivateIpAddresses',
    'ec2:CreateNetworkInterface',
    'ec2:DeleteNetworkInterface',
    'ec2:DescribeNetworkInterfaces',
    'ec2:DescribeSubnets',
    'ec2:UnassignPrivateIpAddresses',
];

export interface RoleProps {
    readonly functionName: string;
    readonly log: logs.ILogGroup;
}

export function vpcRole(scope: Construct, props: RoleProps): iam.Role {
    const role = new iam.Role(scope, 'Role', {
        assumedBy: new iam.ServicePrincipal('lambda.amazonaws.com'),
        description: `howk: ${props.functionName}`,
    });
    const arn = Stack.of(scope).formatArn({
        service: 'lambda',
        resource: 'function',
        resourceName: props.functionName,
        arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    });
    const statements = [
        new iam.PolicyStatement({
            sid: 'Log',
            actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
            resources: [props.log.logGroupArn],
        }),
        new iam.PolicyStatement({ sid: 'Interfaces', actions: INTERFACE_ACTIONS, resources: ['*'] }),
        new iam.PolicyStatement({
            sid: 'InterfacesAreForThePlatform',
            effect: iam.Effect.DENY,
            actions: INTERFACE_ACTIONS,
            resources: ['*'],
            conditions: { ArnEquals: { 'lambda:SourceFunctionArn': arn } },
        }),
    ];
    statements.forEach((statement) => role.addToPolicy(statement));
    return role;
}
