// The CDK app: reads howk.yaml, or the file that HOWK_DEPLOYMENT names, and synthesises it.

import { build } from '../lib/app.ts';
import { load } from '../lib/settings/load.ts';
import { ValidationErrors } from '../lib/settings/validation-error.ts';

try {
    const code = process.env['HOWK_CODE'];
    build(load(process.env['HOWK_DEPLOYMENT'] ?? 'howk.yaml'), { ...(code !== undefined && { code }) }).app.synth();
} catch (error) {
    if (!(error instanceof ValidationErrors)) {
        throw error;
    }
    console.error(error.message);
    process.exitCode = 1;
}
