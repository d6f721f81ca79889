// No committed file names an account, a registry or a secret.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { infra } from './examples.ts';

/** AWS's own example account. */
const EXAMPLE_ACCOUNTS = ['111122223333', '123456789012'];

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: infra, encoding: 'utf8' })
    .split('\n')
    .filter((file) => file !== '');

test('no file names an account', () => {
    for (const file of files.filter((name) => !/package-lock|requirements/.test(name))) {
        const accounts = readFileSync(join(infra, file), 'utf8').match(/(?<![0-9a-fA-F.-])[0-9]{12}(?![0-9a-fA-F-])/g) ?? [];
        assert.deepEqual(
            accounts.filter((account) => !EXAMPLE_ACCOUNTS.includes(account)),
            [],
            file,
        );
    }
});

test('the lock files name no registry', () => {
    const lock = readFileSync(join(infra, 'package-lock.json'), 'utf8');
    assert.ok(!lock.includes('"resolved"'));
    assert.ok(!/https?:\/\//.test(readFileSync(join(infra, 'requirements.txt'), 'utf8')));
});
