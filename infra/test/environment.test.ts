// HOWK_*: every variable that a function needs is set, every one that is set exists, and no secret is among them.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { FUNCTIONS, type FunctionSpec } from '../lib/catalogue.ts';
import { secretVariableOf, variableOf } from '../lib/environment.ts';
import { isSecret } from '../lib/settings/own.ts';
import { reference } from '../lib/settings/reference.ts';
import { EXAMPLES, infra, synthesised } from './examples.ts';
import { readable } from './statements.ts';

const byVariable = new Map([...reference.values()].map((setting) => [setting.variable, setting]));
/** What the functions' kit asks Secrets Manager for, by the variable of the value. */
const asked = [
    ...readFileSync(join(infra, '../shared/lambda-kit/src/secrets.rs'), 'utf8').matchAll(/Variable \{ name: "(HOWK_[A-Z_]+)"/g),
].map(([, variable = '']) => variable);
const bySecretVariable = new Set(asked.map((variable) => `${variable}_ARN`));

/** What the stack knows of the adapters' other ends. */
const OF_ADAPTERS: Readonly<Record<FunctionSpec['adapters'][number], readonly string[]>> = {
    'http-api': ['HOWK_API_AUTH', 'HOWK_API_KEYS_ARN'],
    'log-kafka': ['HOWK_KAFKA_AUTH', 'HOWK_KAFKA_CLUSTER_ARN'],
    'sender-http': [],
    'store-redis': [
        'HOWK_REDIS_ADDR',
        'HOWK_REDIS_AUTH',
        'HOWK_REDIS_CLUSTER',
        'HOWK_REDIS_IAM_CACHE',
        'HOWK_REDIS_IAM_SERVERLESS',
        'HOWK_REDIS_TLS',
        'HOWK_REDIS_USERNAME',
    ],
    'vault-xchacha': [],
};

/** What a function insists on: of each group of keys, one must be set. */
function decidedBy(name: string): string[][] {
    const source = readFileSync(join(infra, `../functions/${name}/src/lib.rs`), 'utf8');
    const list = /decided: &\[(.*?)\](?: \}|,\n)/s.exec(source)?.[1] ?? '';
    return [...list.matchAll(/&\[([^\]]*)\]/g)].map(([, group = '']) =>
        [...group.matchAll(/"([^"]+)"/g)].map(([, key = '']) => key),
    );
}

function variablesOf(example: (typeof EXAMPLES)[number], name: string): Record<string, unknown> {
    const { templates, deployment } = synthesised(example);
    const found = Object.values(templates.functions.findResources('AWS::Lambda::Function'))
        .map(({ Properties }) => Properties as { FunctionName: string; Environment: { Variables: Record<string, unknown> } })
        .find(({ FunctionName }) => FunctionName === `${deployment.name}-${name}`);
    assert.ok(found !== undefined, name);
    return found.Environment.Variables;
}

for (const example of EXAMPLES) {
    for (const { name, adapters, secrets } of FUNCTIONS) {
        test(`${example}: ${name} gets what it needs and nothing that it does not know`, () => {
            const variables = variablesOf(example, name);
            const needed = adapters.flatMap((adapter) => OF_ADAPTERS[adapter]);
            for (const variable of [...needed, ...secrets.map(secretVariableOf), 'HOWK_LAMBDA_TIMEOUT', 'HOWK_LOG_FORMAT']) {
                assert.ok(variable in variables, `${variable} is not set`);
            }
            for (const variable of Object.keys(variables)) {
                assert.ok(byVariable.has(variable) || bySecretVariable.has(variable), `${variable} is no variable of howk`);
            }
            const adaptersWithout = Object.entries(OF_ADAPTERS).filter(([adapter]) => !adapters.some((own) => own === adapter));
            const foreign = adaptersWithout.flatMap(([, of]) => of).filter((variable) => variable in variables);
            assert.deepEqual(foreign, [], 'of adapters that the function does not have');
        });
    }
}

test('what a function insists on is set', () => {
    for (const { name } of FUNCTIONS) {
        const variables = variablesOf('howk', name);
        const groups = decidedBy(name);
        assert.ok(groups.length > 1, `${name} insists on nothing`);
        for (const group of groups) {
            const isSet = group.some((key) => variableOf(key) in variables || secretVariableOf(key) in variables);
            assert.ok(isSet, `${name}: none of ${group.join(', ')}`);
        }
    }
});

test('no variable is a secret: functions get the ARN and ask for it', () => {
    for (const example of EXAMPLES) {
        for (const { name } of FUNCTIONS) {
            for (const [variable, value] of Object.entries(variablesOf(example, name))) {
                const setting = byVariable.get(variable);
                assert.ok(setting === undefined || !isSecret(setting.key), variable);
                assert.ok(!JSON.stringify(value).includes('{{resolve:'), variable);
            }
        }
    }
});

test('each lane has its own concurrency, and says whether its answers may be partial', () => {
    const of = (example: (typeof EXAMPLES)[number], lane: string): unknown[] => {
        const variables = variablesOf(example, lane);
        return [
            variables['HOWK_DELIVERY_CONCURRENCY'],
            variables['HOWK_LAMBDA_PARTIAL_RESPONSES'],
            variables['HOWK_LAMBDA_TIMEOUT'],
        ];
    };
    assert.deepEqual(of('medium', 'fast-lane'), ['100', 'true', '60s']);
    assert.deepEqual(of('medium', 'slow-lane'), ['200', 'true', '120s']);
    assert.deepEqual(of('existing-cluster', 'fast-lane'), ['50', 'false', '60s']);
});

test('the kit asks for every secret that the stack names, and the stack names every one that it asks for', () => {
    const named = new Set(FUNCTIONS.flatMap(({ secrets }) => secrets).map(variableOf));
    assert.deepEqual([...named].sort(), [...asked].sort());
});

test('a function gets ARNs of secrets where its crate asks for them, and nowhere else', () => {
    for (const { name, secrets } of FUNCTIONS) {
        const manifest = readFileSync(join(infra, `../functions/${name}/Cargo.toml`), 'utf8');
        const asks = /^lambda-kit = \{.*features = \[[^\]]*"secrets"/m.test(manifest);
        assert.equal(asks, secrets.length > 0, name);
        for (const example of EXAMPLES) {
            const arns = Object.keys(variablesOf(example, name)).filter((variable) =>
                asked.some((of) => variable === `${of}_ARN`),
            );
            assert.deepEqual(arns.sort(), secrets.map(secretVariableOf).sort(), `${example}: ${name}`);
        }
    }
});

test('the cache and the log are those of the data stack', () => {
    const variables = variablesOf('howk', 'reconciler');
    assert.equal(readable(variables['HOWK_KAFKA_CLUSTER_ARN']), 'KafkaCluster');
    assert.equal(readable(variables['HOWK_REDIS_ADDR']), '<CacheServerless>:<CacheServerless>');
    assert.equal(variables['HOWK_REDIS_IAM_CACHE'], 'howk');
    assert.equal(variables['HOWK_REDIS_USERNAME'], 'howk');
});
