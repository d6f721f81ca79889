// The errors of a howk.yaml, as lines.

import assert from 'node:assert/strict';
import { parse } from '../lib/settings/load.ts';
import { ValidationErrors } from '../lib/settings/validation-error.ts';

/** `path: problem` of each error. */
export function errorsOf(text: string): string[] {
    try {
        parse(text, 'howk.yaml');
    } catch (error) {
        assert.ok(error instanceof ValidationErrors, String(error));
        return error.errors.map(({ path, problem }) => `${path}: ${problem}`);
    }
    return [];
}
