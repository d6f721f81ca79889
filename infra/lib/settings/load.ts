// Reads howk.yaml: shape, howk's own settings, inequalities. All mistakes at once.

import { readFileSync } from 'node:fs';
import { parseDocument } from 'yaml';
import type { Deployment } from './deployment.ts';
import { mistakesOfInequalities } from './inequalities.ts';
import { Mistakes } from './mistake.ts';
import { mistakesOfOwn } from './own.ts';
import { mistakesOfShape } from './schema.ts';

/** Throws `Mistakes` when the text is no deployment that can work. */
export function parse(text: string, file: string): Deployment {
    const yaml = parseDocument(text);
    if (yaml.errors.length > 0) {
        throw new Mistakes(
            file,
            yaml.errors.map(({ message }) => ({ path: 'the file', problem: message })),
        );
    }
    const document = (yaml.toJS() ?? {}) as Deployment;
    const shape = mistakesOfShape(document);
    const own = isObject(document.howk) ? mistakesOfOwn(document.howk) : [];
    // Between settings that are no settings nothing can hold.
    const between = shape.length === 0 && own.length === 0 ? mistakesOfInequalities(document) : [];
    const mistakes = [...shape, ...own, ...between];
    if (mistakes.length > 0) {
        throw new Mistakes(file, mistakes);
    }
    return document;
}

export function load(file: string): Deployment {
    return parse(readFileSync(file, 'utf8'), file);
}

function isObject(value: unknown): value is object {
    return typeof value === 'object' && value !== null;
}
