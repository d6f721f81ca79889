// Every grant of every role, and that it mirrors what the function's crate names.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { FUNCTIONS, type FunctionSpec } from '../lib/catalogue.ts';
import { POLLER_ACTIONS } from '../lib/grants.ts';
import { INTERFACE_ACTIONS } from '../lib/role.ts';
import { EXAMPLES, infra, synthesised } from './examples.ts';
import { grantsByRole, readable } from './statements.ts';

/** The only actions that may be on every resource: AWS has nothing narrower for them. */
const ON_EVERYTHING = [...INTERFACE_ACTIONS, ...POLLER_ACTIONS, 'xray:PutTelemetryRecords', 'xray:PutTraceSegments'];

const CACHE = [
    'Allow elasticache:Connect on elasticache:eu-west-1:<AWS::AccountId>:serverlesscache:howk',
    'Allow elasticache:Connect on elasticache:eu-west-1:<AWS::AccountId>:user:howk',
];
const KAFKA = ['Allow kafka-cluster:Connect on KafkaCluster', 'Allow kafka:GetBootstrapBrokers on KafkaCluster'];
const PRODUCER = 'Allow kafka-cluster:WriteDataIdempotently on KafkaCluster';
const DEAD_LETTERS = 'Allow sqs:SendMessage on FunctionsDeadLetters';
const SEALING = [
    'Allow kms:Decrypt on SecretsKey when kms:ViaService is secretsmanager.eu-west-1.amazonaws.com',
    'Allow secretsmanager:GetSecretValue on SecretsSealingKey',
];

const GRANTS: Readonly<Record<FunctionSpec['name'], string[]>> = {
    enqueue: [
        ...CACHE,
        ...KAFKA,
        PRODUCER,
        ...SEALING,
        'Allow secretsmanager:GetSecretValue on SecretsApiKeys',
        ...topics('WriteData', 'howk.pending', 'howk.state'),
        ...topics('ReadData', 'howk.deadletter'),
        ...topics('DescribeTopic', 'howk.deadletter', 'howk.pending', 'howk.state'),
    ],
    'fast-lane': [
        ...CACHE,
        ...KAFKA,
        PRODUCER,
        ...SEALING,
        ...pollers('howk-workers'),
        ...topics('WriteData', 'howk.deadletter', 'howk.results', 'howk.slow', 'howk.state'),
        ...topics('ReadData', 'howk.pending'),
        ...topics('DescribeTopic', 'howk.deadletter', 'howk.pending', 'howk.results', 'howk.slow', 'howk.state'),
    ],
    'slow-lane': [
        ...CACHE,
        ...KAFKA,
        PRODUCER,
        ...SEALING,
        ...pollers('howk-workers-slow'),
        ...topics('WriteData', 'howk.deadletter', 'howk.results', 'howk.state'),
        ...topics('ReadData', 'howk.slow'),
        ...topics('DescribeTopic', 'howk.deadletter', 'howk.results', 'howk.slow', 'howk.state'),
    ],
    scheduler: [
        ...CACHE,
        ...KAFKA,
        PRODUCER,
        DEAD_LETTERS,
        'Allow kafka-cluster:DescribeGroup on group howk-workers',
        'Allow kafka-cluster:DescribeGroup on group howk-workers-slow',
        ...topics('WriteData', 'howk.pending', 'howk.slow'),
        ...topics('DescribeTopic', 'howk.pending', 'howk.slow'),
    ],
    reconciler: [
        ...CACHE,
        ...KAFKA,
        DEAD_LETTERS,
        ...topics('ReadData', 'howk.deadletter', 'howk.results', 'howk.state'),
        ...topics('DescribeTopic', 'howk.deadletter', 'howk.results', 'howk.state'),
    ],
};

function topics(action: string, ...names: string[]): string[] {
    return names.map((name) => `Allow kafka-cluster:${action} on topic ${name}`);
}

function pollers(group: string): string[] {
    return [
        'Allow ec2:DescribeSecurityGroups on *',
        'Allow ec2:DescribeVpcs on *',
        `Allow kafka-cluster:AlterGroup on group ${group}`,
        'Allow kafka-cluster:DescribeClusterDynamicConfiguration on KafkaCluster',
        `Allow kafka-cluster:DescribeGroup on group ${group}`,
        'Allow kafka:DescribeCluster on KafkaCluster',
        'Allow kafka:DescribeClusterV2 on KafkaCluster',
    ];
}

/** What every function in a VPC may do. */
function common(role: string, functionName: string): string[] {
    const own = `lambda:eu-west-1:<AWS::AccountId>:function:${functionName}`;
    return [
        ...['CreateLogStream', 'PutLogEvents'].map((action) => `Allow logs:${action} on ${role.replace(/Role$/, 'Log')}`),
        ...['PutTelemetryRecords', 'PutTraceSegments'].map((action) => `Allow xray:${action} on *`),
        ...INTERFACE_ACTIONS.map((action) => `Allow ${action} on *`),
        ...INTERFACE_ACTIONS.map((action) => `Deny ${action} on * when lambda:SourceFunctionArn is arn:<AWS::Partition>:${own}`),
    ].map((line) => line.replace('arn:<AWS::Partition>:', ''));
}

function roleOf(name: string): string {
    return `Functions${name.replace('-', '')}Role`;
}

for (const { name } of FUNCTIONS) {
    test(`${name} may do what its code does, and nothing else`, () => {
        const granted = grantsByRole(synthesised('howk').templates.functions).get(roleOf(name));
        assert.deepEqual([...new Set(granted)], [...GRANTS[name], ...common(roleOf(name), `howk-${name}`)].sort());
    });
}

test('in on-demand mode a lane republishes what it has no time for', () => {
    const granted = grantsByRole(synthesised('existing-cluster').templates.functions);
    for (const [name, topic] of [
        ['fast-lane', 'howk.pending'],
        ['slow-lane', 'howk.slow'],
    ] as const) {
        assert.ok(granted.get(roleOf(name))?.includes(`Allow kafka-cluster:WriteData on topic ${topic}`), name);
    }
});

test('the schedules invoke two functions, and tell the dead-letter queue', () => {
    assert.deepEqual(grantsByRole(synthesised('howk').templates.functions).get('SchedulesRole'), [
        'Allow lambda:InvokeFunction on FunctionsreconcilerFunction',
        'Allow lambda:InvokeFunction on FunctionsschedulerFunction',
        DEAD_LETTERS,
    ]);
});

test('there are no other roles, and none has a managed policy', () => {
    for (const example of EXAMPLES) {
        const { data, functions } = synthesised(example).templates;
        const roles = (template: typeof data): [string, unknown][] =>
            Object.entries(template.findResources('AWS::IAM::Role')).map(([id, { Properties }]) => [
                readable({ Ref: id }),
                Properties,
            ]);
        assert.deepEqual(
            roles(functions)
                .map(([id]) => id)
                .sort(),
            [...FUNCTIONS.map(({ name }) => roleOf(name)), 'SchedulesRole'].sort(),
        );
        const managed = [...roles(data), ...roles(functions)].filter(
            ([, role]) => (role as { ManagedPolicyArns?: [] }).ManagedPolicyArns,
        );
        const known = example === 'small' ? ['TopicsProviderframeworkonEventServiceRole'] : [];
        assert.deepEqual(
            managed.map(([id]) => id),
            known,
            example,
        );
    }
});

test('nothing is allowed on every resource but what AWS has nothing narrower for', () => {
    for (const example of EXAMPLES) {
        for (const template of Object.values(synthesised(example).templates)) {
            for (const line of [...grantsByRole(template).values()].flat().filter((each) => each.startsWith('Allow'))) {
                const [, action = '', resource = ''] = /^Allow (\S+) on (.+)$/.exec(line) ?? [];
                assert.ok(!action.includes('*'), line);
                const isKnown = ON_EVERYTHING.includes(action) || resource === '<TopicsFunction>:*';
                assert.ok(!resource.includes('*') || isKnown, line);
            }
        }
    }
});

/** The adapters by the features of `wiring` that bring them. */
const FEATURES: Readonly<Record<string, string>> = {
    api: 'http-api',
    kafka: 'log-kafka',
    redis: 'store-redis',
    sender: 'sender-http',
    vault: 'vault-xchacha',
};

for (const { name, adapters } of FUNCTIONS) {
    test(`the catalogue names the adapters of functions/${name}`, () => {
        const manifest = readFileSync(join(infra, `../functions/${name}/Cargo.toml`), 'utf8');
        const features = /^wiring = \{.*features = \[([^\]]*)\]/m.exec(manifest)?.[1] ?? '';
        const named = [...features.matchAll(/"([a-z]+)"/g)].flatMap(([, feature = '']) => FEATURES[feature] ?? []);
        assert.deepEqual(named.sort(), [...adapters].sort());
    });
}

test('a function without an adapter gets neither grants nor a way to what the adapter talks to', () => {
    const template = synthesised('howk').templates.functions;
    const ways = Object.values(template.findResources('AWS::EC2::SecurityGroupEgress')).map(({ Properties }) => {
        const { GroupId, Description } = Properties as { GroupId: unknown; Description: string };
        return `${readable(GroupId)} ${Description}`;
    });
    for (const { name, adapters, calls } of FUNCTIONS) {
        const granted = grantsByRole(template).get(roleOf(name)) ?? [];
        const group = roleOf(name).replace(/Role$/, 'Group');
        const has = {
            cache: ways.includes(`${group} to Cache`),
            kafka: ways.includes(`${group} to Kafka`),
            receivers: ways.includes(`${group} to receivers`),
        };
        assert.deepEqual(has, {
            cache: adapters.includes('store-redis'),
            kafka: adapters.includes('log-kafka'),
            receivers: calls,
        });
        assert.ok(!calls || adapters.includes('sender-http'));
        assert.equal(
            granted.some((line) => line.includes('elasticache:')),
            adapters.includes('store-redis'),
        );
        assert.equal(
            granted.some((line) => line.includes('kafka-cluster:')),
            adapters.includes('log-kafka'),
        );
    }
});
