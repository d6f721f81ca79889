// cdk-nag's packs. Synthesising an example fails on whatever is not acknowledged; here is the other way round.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag';
import { ACKNOWLEDGEMENTS } from '../lib/acknowledgements.ts';
import { EXAMPLES, synthesised } from './examples.ts';

test('every acknowledged finding is still found, and explained', () => {
    const found = EXAMPLES.flatMap((example) => {
        const { app } = synthesised(example);
        const packs = { AwsSolutions: new AwsSolutionsChecks(app), Serverless: new ServerlessChecks(app) };
        return Object.entries(packs).flatMap(([pack, checks]) =>
            checks.validateScope(app).violations.flatMap(({ ruleName, violatingResources }) =>
                violatingResources.map(({ constructPath }) => ({
                    id: `${pack}::${ruleName}`,
                    path: (constructPath ?? '').split('/').slice(1).join('/'),
                })),
            ),
        );
    });
    for (const { id, at, reason } of ACKNOWLEDGEMENTS) {
        assert.ok(reason.length > 60, `${id} needs a reason`);
        assert.ok(
            found.some((finding) => finding.id === id && at.test(finding.path)),
            `${id} at ${at} finds nothing any more: remove it`,
        );
    }
    const standing = found.filter(({ id, path }) => !ACKNOWLEDGEMENTS.some((known) => known.id === id && known.at.test(path)));
    assert.deepEqual(standing, []);
});

test('every example is synthesised in under a minute', () => {
    for (const example of EXAMPLES) {
        assert.ok(synthesised(example).seconds < 60, `${example} took ${synthesised(example).seconds} s`);
    }
});
