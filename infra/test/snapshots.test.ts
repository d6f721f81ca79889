// The templates as they were last reviewed. `npm run snapshots` rewrites them; read the difference.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { EXAMPLES, infra, synthesised } from './examples.ts';

for (const example of EXAMPLES) {
    for (const stack of ['data', 'functions'] as const) {
        test(`the template ${example}.${stack} is as in its snapshot`, () => {
            const file = join(infra, 'test/snapshots', `${example}.${stack}.json`);
            const now = `${JSON.stringify(synthesised(example).templates[stack].toJSON(), masked, 1)}\n`;
            if (process.env['UPDATE_SNAPSHOTS'] === '1') {
                writeFileSync(file, now);
            }
            assert.deepEqual(JSON.parse(now), JSON.parse(readFileSync(file, 'utf8')));
        });
    }
}

/** What follows from the bytes of assets, and from the version of CDK. */
function masked(key: string, value: unknown): unknown {
    if (key === 'S3Key') {
        return '<asset>';
    }
    return key === 'Metadata' || key === 'CDKMetadata' ? undefined : value;
}
