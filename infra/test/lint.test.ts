// cfn-lint on every template. Its one warning is about what CDK writes into every template: dependencies said twice.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { EXAMPLES, synthesised } from './examples.ts';

test('cfn-lint finds nothing in any template', () => {
    const lint = process.env['CFN_LINT'] ?? 'cfn-lint';
    const files = EXAMPLES.flatMap((example) => synthesised(example).files);
    const said = execFileSync(lint, ['--ignore-checks', 'W3005', '--', ...files], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
    });
    assert.equal(said, '');
});
