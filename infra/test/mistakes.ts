// The mistakes of a howk.yaml, as lines.

import assert from 'node:assert/strict';
import { parse } from '../lib/settings/load.ts';
import { Mistakes } from '../lib/settings/mistake.ts';

/** `path: problem` of each mistake. */
export function mistakesOf(text: string): string[] {
    try {
        parse(text, 'howk.yaml');
    } catch (error) {
        assert.ok(error instanceof Mistakes, String(error));
        return error.mistakes.map(({ path, problem }) => `${path}: ${problem}`);
    }
    return [];
}
