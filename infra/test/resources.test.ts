// Every resource: a type that no rule here knows fails, and so does one that breaks its rule.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { topics } from '../lib/topic-list.ts';
import { EXAMPLES, synthesised } from './examples.ts';
import { readable } from './statements.ts';

type Properties = Record<string, unknown>;
interface Resource {
    readonly Type: string;
    readonly Properties?: Properties;
    readonly DeletionPolicy?: string;
    readonly UpdateReplacePolicy?: string;
}
type Rule = (properties: Properties, resource: Resource) => void;

const RULES: Readonly<Record<string, Rule>> = {
    'AWS::ApiGatewayV2::Api': ({ ProtocolType }) => assert.equal(ProtocolType, 'HTTP'),
    'AWS::ApiGatewayV2::ApiMapping': ({ Stage }) => assert.ok(Stage),
    'AWS::ApiGatewayV2::DomainName': ({ DomainNameConfigurations }) =>
        assert.match(JSON.stringify(DomainNameConfigurations), /"TLS_1_2"/),
    'AWS::ApiGatewayV2::Integration': ({ PayloadFormatVersion, IntegrationType }) =>
        assert.deepEqual([IntegrationType, PayloadFormatVersion], ['AWS_PROXY', '2.0']),
    'AWS::ApiGatewayV2::Route': ({ RouteKey }) => assert.equal(RouteKey, '$default'),
    'AWS::ApiGatewayV2::Stage': ({ AccessLogSettings, DefaultRouteSettings }) => {
        assert.ok((AccessLogSettings as Properties)['DestinationArn']);
        const { ThrottlingRateLimit, ThrottlingBurstLimit } = DefaultRouteSettings as Record<string, number>;
        assert.ok((ThrottlingRateLimit ?? 0) > 0 && (ThrottlingBurstLimit ?? 0) > 0);
    },
    'AWS::CloudWatch::Alarm': ({ AlarmName }) => assert.match(String(AlarmName), /^howk[a-z-]*-[A-Z]{2}-\d-[a-z-]+$/),
    'AWS::CloudWatch::Dashboard': ({ DashboardName }) => assert.ok(DashboardName),
    'AWS::EC2::EIP': ({ Domain }) => assert.equal(Domain, 'vpc'),
    'AWS::EC2::FlowLog': ({ LogDestinationType }) => assert.equal(LogDestinationType, 'cloud-watch-logs'),
    'AWS::EC2::InternetGateway': () => {},
    'AWS::EC2::NatGateway': ({ AllocationId }) => assert.ok(AllocationId),
    'AWS::EC2::Route': ({ DestinationCidrBlock }) => assert.equal(DestinationCidrBlock, '0.0.0.0/0'),
    'AWS::EC2::RouteTable': () => {},
    'AWS::EC2::SecurityGroup': ({ SecurityGroupIngress, SecurityGroupEgress }) => {
        assert.equal(SecurityGroupIngress, undefined, 'rules are resources of their own');
        const [out, ...more] = (SecurityGroupEgress ?? []) as { CidrIp?: string }[];
        assert.equal(out?.CidrIp ?? '255.255.255.255/32', '255.255.255.255/32');
        assert.equal(more.length, 0);
    },
    'AWS::EC2::SecurityGroupEgress': ({ IpProtocol, CidrIp, Description }) => {
        assert.equal(IpProtocol, 'tcp');
        assert.equal(CidrIp === undefined, Description !== 'to receivers');
    },
    'AWS::EC2::SecurityGroupIngress': ({ IpProtocol, CidrIp, FromPort, ToPort }) => {
        assert.deepEqual([IpProtocol, CidrIp], ['tcp', undefined]);
        assert.equal(FromPort, ToPort);
    },
    'AWS::EC2::Subnet': ({ MapPublicIpOnLaunch }) => assert.equal(MapPublicIpOnLaunch, false),
    'AWS::EC2::SubnetRouteTableAssociation': () => {},
    'AWS::EC2::VPC': ({ EnableDnsHostnames, EnableDnsSupport }) =>
        assert.deepEqual([EnableDnsHostnames, EnableDnsSupport], [true, true]),
    'AWS::EC2::VPCEndpoint': ({ PrivateDnsEnabled, VpcEndpointType }) =>
        assert.deepEqual([VpcEndpointType, PrivateDnsEnabled], ['Interface', true]),
    'AWS::EC2::VPCGatewayAttachment': () => {},
    'AWS::ElastiCache::ParameterGroup': ({ Properties }) =>
        assert.deepEqual(Properties, { 'cluster-enabled': 'yes', 'maxmemory-policy': 'noeviction' }),
    'AWS::ElastiCache::ReplicationGroup': (properties, { DeletionPolicy }) => {
        const wanted = ['AtRestEncryptionEnabled', 'TransitEncryptionEnabled', 'AutomaticFailoverEnabled', 'MultiAZEnabled'];
        assert.deepEqual(
            wanted.map((name) => properties[name]),
            [true, true, true, true],
        );
        assert.ok(properties['KmsKeyId'] && properties['UserGroupIds']);
        assert.deepEqual([properties['Durability'], DeletionPolicy], ['async', 'Retain']);
    },
    'AWS::ElastiCache::ServerlessCache': ({ Engine, UserGroupId, KmsKeyId, CacheUsageLimits }, { DeletionPolicy }) => {
        assert.equal(Engine, 'valkey');
        assert.ok(UserGroupId && KmsKeyId && CacheUsageLimits);
        assert.equal(DeletionPolicy, 'Retain');
    },
    'AWS::ElastiCache::SubnetGroup': ({ SubnetIds }) => assert.equal((SubnetIds as []).length, 3),
    'AWS::ElastiCache::User': ({ AuthenticationMode, AccessString, UserId, UserName }) => {
        assert.deepEqual(AuthenticationMode, { Type: 'iam' });
        assert.equal(UserId, UserName, 'IAM asks for it');
        assert.match(String(AccessString), /^on ~\* -@all .* -@dangerous /);
    },
    'AWS::ElastiCache::UserGroup': ({ UserIds }) => assert.equal((UserIds as []).length, 1),
    'AWS::IAM::Policy': ({ Roles }) => assert.equal((Roles as []).length, 1),
    'AWS::IAM::Role': ({ AssumeRolePolicyDocument }) =>
        assert.match(JSON.stringify(AssumeRolePolicyDocument), /"Service":"[a-z-]+\.amazonaws\.com"/),
    'AWS::KMS::Alias': () => {},
    'AWS::KMS::Key': ({ EnableKeyRotation }, { DeletionPolicy }) =>
        assert.deepEqual([EnableKeyRotation, DeletionPolicy], [true, 'Retain']),
    'AWS::Lambda::Alias': ({ ProvisionedConcurrencyConfig }) =>
        assert.deepEqual(ProvisionedConcurrencyConfig, { ProvisionedConcurrentExecutions: 5 }),
    'AWS::Lambda::EventInvokeConfig': ({ MaximumRetryAttempts, MaximumEventAgeInSeconds, DestinationConfig }) => {
        assert.deepEqual([MaximumRetryAttempts, MaximumEventAgeInSeconds], [0, 60]);
        assert.match(JSON.stringify(DestinationConfig), /DeadLetters/);
    },
    'AWS::Lambda::EventSourceMapping': ({ StartingPosition }) => assert.equal(StartingPosition, 'TRIM_HORIZON'),
    'AWS::Lambda::Function': (properties) => {
        if (String(properties['Description']).startsWith('AWS CDK resource provider framework')) {
            return;
        }
        assert.deepEqual(properties['Architectures'], ['arm64']);
        assert.deepEqual(properties['TracingConfig'], { Mode: 'Active' });
        assert.ok((properties['LoggingConfig'] as Properties)['LogGroup'], 'a log group whose retention is set');
        assert.ok(properties['VpcConfig']);
        const name = String(properties['FunctionName']);
        const alone = /-(scheduler|reconciler)$/.test(name);
        assert.equal(properties['ReservedConcurrentExecutions'] === 1, alone, name);
    },
    'AWS::Lambda::Permission': ({ Principal, SourceArn }) => {
        assert.equal(Principal, 'apigateway.amazonaws.com');
        assert.ok(SourceArn);
    },
    'AWS::Lambda::Version': () => {},
    'AWS::Logs::LogGroup': ({ KmsKeyId, RetentionInDays, LogGroupName }) => {
        assert.ok(KmsKeyId && RetentionInDays);
        assert.match(String(LogGroupName), /^\/howk\/howk/);
    },
    'AWS::MSK::Cluster': (properties, { DeletionPolicy, UpdateReplacePolicy }) => {
        assert.deepEqual(properties['ClientAuthentication'], {
            Sasl: { Iam: { Enabled: true } },
            Unauthenticated: { Enabled: false },
        });
        const { EncryptionInTransit } = properties['EncryptionInfo'] as Properties;
        assert.deepEqual(EncryptionInTransit, { ClientBroker: 'TLS', InCluster: true });
        assert.equal(properties['NumberOfBrokerNodes'], 3);
        assert.deepEqual([DeletionPolicy, UpdateReplacePolicy], ['Retain', 'Retain']);
    },
    'AWS::MSK::Configuration': ({ ServerProperties }) => {
        const properties = String(ServerProperties).split('\n');
        assert.ok(properties.includes('auto.create.topics.enable=false') && properties.includes('min.insync.replicas=2'));
    },
    'AWS::MSK::ServerlessCluster': ({ ClientAuthentication }, { DeletionPolicy }) => {
        assert.deepEqual(ClientAuthentication, { Sasl: { Iam: { Enabled: true } } });
        assert.equal(DeletionPolicy, 'Retain');
    },
    'AWS::MSK::Topic': ({ TopicName, PartitionCount, ReplicationFactor, Configs }, { DeletionPolicy }) => {
        const topic = topics.find(({ name }) => name === TopicName);
        const lines = Buffer.from(String(Configs), 'base64').toString().trim().split('\n');
        assert.deepEqual(
            lines,
            Object.entries(topic?.config ?? {}).map(([name, value]) => `${name}=${value}`),
        );
        assert.deepEqual([PartitionCount, ReplicationFactor, DeletionPolicy], [topic?.partitions, 3, 'Retain']);
    },
    'AWS::SNS::Subscription': ({ Protocol }) => assert.equal(Protocol, 'email'),
    'AWS::SNS::Topic': ({ KmsMasterKeyId }) => assert.ok(KmsMasterKeyId),
    'AWS::SNS::TopicPolicy': ({ PolicyDocument }) =>
        assert.match(JSON.stringify(PolicyDocument), /"aws:SecureTransport":"false"/),
    'AWS::SQS::Queue': ({ SqsManagedSseEnabled, MessageRetentionPeriod }) =>
        assert.deepEqual([SqsManagedSseEnabled, MessageRetentionPeriod], [true, 1209600]),
    'AWS::SQS::QueuePolicy': ({ PolicyDocument }) =>
        assert.match(JSON.stringify(PolicyDocument), /"aws:SecureTransport":"false"/),
    'AWS::Scheduler::Schedule': ({ ScheduleExpression, FlexibleTimeWindow, Target }) => {
        assert.equal(ScheduleExpression, 'rate(1 minute)');
        assert.deepEqual(FlexibleTimeWindow, { Mode: 'OFF' });
        const { RetryPolicy, DeadLetterConfig, Input } = Target as Properties;
        assert.deepEqual(RetryPolicy, { MaximumEventAgeInSeconds: 60, MaximumRetryAttempts: 0 });
        assert.ok(DeadLetterConfig);
        assert.deepEqual(Object.keys(JSON.parse(String(Input)) as object), [
            'schedule_arn',
            'scheduled_time',
            'execution_id',
            'attempt_number',
        ]);
    },
    'AWS::Scheduler::ScheduleGroup': ({ Name }) => assert.ok(Name),
    'AWS::SecretsManager::Secret': ({ KmsKeyId }, { DeletionPolicy }) => {
        assert.ok(KmsKeyId);
        assert.equal(DeletionPolicy, 'Retain');
    },
    'Custom::HowkTopics': ({ topics: ensured }) =>
        assert.deepEqual(
            (ensured as { name: string }[]).map(({ name }) => name),
            topics.map(({ name }) => name),
        ),
};

for (const example of EXAMPLES) {
    test(`${example}: every resource is as it must be`, () => {
        for (const template of Object.values(synthesised(example).templates)) {
            for (const [id, resource] of Object.entries(template.toJSON()['Resources'] as Record<string, Resource>)) {
                const rule = RULES[resource.Type];
                assert.ok(rule !== undefined, `${id}: no rule for ${resource.Type}`);
                rule(resource.Properties ?? {}, resource);
            }
        }
    });
}

test('every kind of resource stands in an example', () => {
    const types = EXAMPLES.flatMap((example) =>
        Object.values(synthesised(example).templates).flatMap((template) =>
            Object.values(template.toJSON()['Resources'] as Record<string, { Type: string }>).map(({ Type }) => Type),
        ),
    );
    assert.deepEqual(
        Object.keys(RULES).filter((type) => !types.includes(type)),
        [],
    );
});

test('what calls receivers has a route to the internet, nothing else has', () => {
    const functions = synthesised('howk').templates.functions.findResources('AWS::Lambda::Function');
    for (const { Properties } of Object.values(functions)) {
        const { FunctionName, VpcConfig } = Properties as { FunctionName: string; VpcConfig: { SubnetIds: unknown[] } };
        const kind = /-(fast-lane|slow-lane|scheduler)$/.test(FunctionName) ? 'egress' : 'isolated';
        assert.ok(
            VpcConfig.SubnetIds.map(readable).every((subnet) => subnet.includes(kind)),
            FunctionName,
        );
    }
});

test('kept data is protected', () => {
    assert.equal(synthesised('howk').data.terminationProtection, true);
});
