// The network: made here, or an existing VPC. Everything with a route to the internet stands apart from everything without.

import { Fn } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as iam from 'aws-cdk-lib/aws-iam';
import type * as kms from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';
import { logGroup } from './log-group.ts';
import type { Deployment, ExistingNetwork } from './settings/deployment.ts';

export const ZONES = 3;

export interface NetworkProps {
    readonly deployment: Deployment;
    readonly key: kms.IKey;
}

export class Network extends Construct {
    readonly vpc: ec2.IVpc;
    /** With a route to the internet, for what calls receivers. */
    readonly egress: ec2.ISubnet[];
    /** Without one, for everything else. */
    readonly isolated: ec2.ISubnet[];
    /** Of the VPC endpoints; undefined when an existing network has its own ways to AWS's APIs. */
    readonly endpoints: ec2.SecurityGroup | undefined;

    constructor(scope: Construct, props: NetworkProps) {
        super(scope, 'Network');
        const { create, existing } = props.deployment.network;
        if (existing === undefined) {
            const vpc = this.create(create?.cidr ?? '', create?.nat_gateways ?? 1, props);
            this.vpc = vpc;
            this.egress = vpc.privateSubnets;
            this.isolated = vpc.isolatedSubnets;
        } else {
            [this.vpc, this.egress, this.isolated] = this.import(existing);
        }
        this.endpoints = (existing?.endpoints ?? true) ? this.addEndpoints(props.deployment) : undefined;
    }

    private create(cidr: string, natGateways: number, props: NetworkProps): ec2.Vpc {
        const vpc = new ec2.Vpc(this, 'Vpc', {
            vpcName: props.deployment.name,
            ipAddresses: ec2.IpAddresses.cidr(cidr),
            // By index, so that synth asks no account for its zones.
            availabilityZones: Array.from({ length: ZONES }, (_, index) => Fn.select(index, Fn.getAzs())),
            natGateways,
            restrictDefaultSecurityGroup: false,
            subnetConfiguration: [
                { name: 'public', subnetType: ec2.SubnetType.PUBLIC, cidrMask: 24, mapPublicIpOnLaunch: false },
                { name: 'egress', subnetType: ec2.SubnetType.PRIVATE_WITH_EGRESS, cidrMask: 22 },
                { name: 'isolated', subnetType: ec2.SubnetType.PRIVATE_ISOLATED, cidrMask: 22 },
            ],
        });
        const log = logGroup(this, 'FlowLog', { ...props, name: 'network' });
        const role = new iam.Role(this, 'FlowLogRole', { assumedBy: new iam.ServicePrincipal('vpc-flow-logs.amazonaws.com') });
        vpc.addFlowLog('Flows', {
            destination: ec2.FlowLogDestination.toCloudWatchLogs(log, role),
            trafficType: ec2.FlowLogTrafficType.REJECT,
        });
        return vpc;
    }

    private import(existing: ExistingNetwork): [ec2.IVpc, ec2.ISubnet[], ec2.ISubnet[]] {
        const vpc = ec2.Vpc.fromVpcAttributes(this, 'Vpc', { vpcId: existing.vpc_id, availabilityZones: existing.zones });
        const subnets = (kind: string, ids: string[]): ec2.ISubnet[] =>
            ids.map((subnetId, index) =>
                ec2.Subnet.fromSubnetAttributes(this, `${kind}${index + 1}`, {
                    subnetId,
                    availabilityZone: existing.zones[index] ?? '',
                }),
            );
        return [vpc, subnets('Egress', existing.egress_subnet_ids), subnets('Isolated', existing.isolated_subnet_ids)];
    }

    /** The APIs that functions and pollers call without a route to the internet. */
    private addEndpoints(deployment: Deployment): ec2.SecurityGroup {
        const group = securityGroup(this, 'Endpoints', this.vpc, 'AWS APIs');
        const lanes = [deployment.functions['fast-lane'], deployment.functions['slow-lane']];
        const onDemand = lanes.some(({ pollers }) => pollers === null);
        const services = {
            SecretsManager: ec2.InterfaceVpcEndpointAwsService.SECRETS_MANAGER,
            Kafka: ec2.InterfaceVpcEndpointAwsService.KAFKA,
            // Pollers in on-demand mode invoke from within the network.
            ...(onDemand && { Lambda: ec2.InterfaceVpcEndpointAwsService.LAMBDA, Sts: ec2.InterfaceVpcEndpointAwsService.STS }),
        };
        for (const [name, service] of Object.entries(services)) {
            new ec2.InterfaceVpcEndpoint(this, name, {
                vpc: this.vpc,
                service,
                subnets: { subnets: this.isolated },
                securityGroups: [group],
                open: false,
            });
        }
        return group;
    }
}

/** A security group without egress; the construct that sends to it adds the ingress. */
export function securityGroup(scope: Construct, id: string, vpc: ec2.IVpc, of: string): ec2.SecurityGroup {
    return new ec2.SecurityGroup(scope, id, { vpc, description: `howk: ${of}`, allowAllOutbound: false });
}

/** Lets one security group reach another. Both rules stand in the first one's stack, so that neither stack needs the other. */
export function allow(
    scope: Construct,
    from: ec2.SecurityGroup,
    to: { group: ec2.ISecurityGroup; port: number; name: string },
): void {
    const rule = { ipProtocol: 'tcp', fromPort: to.port, toPort: to.port };
    new ec2.CfnSecurityGroupEgress(scope, `To${to.name}`, {
        ...rule,
        groupId: from.securityGroupId,
        destinationSecurityGroupId: to.group.securityGroupId,
        description: `to ${to.name}`,
    });
    new ec2.CfnSecurityGroupIngress(scope, `Into${to.name}`, {
        ...rule,
        groupId: to.group.securityGroupId,
        sourceSecurityGroupId: from.securityGroupId,
        description: `from ${from.node.path}`,
    });
}

/** Lets a security group reach receivers, wherever and on whichever port they listen. */
export function anywhere(scope: Construct, from: ec2.SecurityGroup): void {
    new ec2.CfnSecurityGroupEgress(scope, 'ToReceivers', {
        groupId: from.securityGroupId,
        ipProtocol: 'tcp',
        fromPort: 1,
        toPort: 65535,
        cidrIp: '0.0.0.0/0',
        description: 'to receivers',
    });
}

/** The port of VPC endpoints. */
export const ENDPOINT_PORT = 443;
