// Reads howk.yaml: shape, howk's own settings, inequalities. All errors at once.

import { readFileSync } from 'node:fs';
import { parseDocument } from 'yaml';
import type { Deployment } from './deployment.ts';
import { errorsOfInequalities } from './inequalities.ts';
import { ValidationErrors } from './validation-error.ts';
import { errorsOfOwn } from './own.ts';
import { errorsOfShape } from './schema.ts';

/** Throws `ValidationErrors` when the text is no deployment that can work. */
export function parse(text: string, file: string): Deployment {
    const yaml = parseDocument(text);
    if (yaml.errors.length > 0) {
        throw new ValidationErrors(
            file,
            yaml.errors.map(({ message }) => ({ path: 'the file', problem: message })),
        );
    }
    const document = (yaml.toJS() ?? {}) as Deployment;
    const shape = errorsOfShape(document);
    const own = isObject(document.howk) ? errorsOfOwn(document.howk) : [];
    // The inequalities are about values that are right by themselves.
    const between = shape.length === 0 && own.length === 0 ? errorsOfInequalities(document) : [];
    const errors = [...shape, ...own, ...between];
    if (errors.length > 0) {
        throw new ValidationErrors(file, errors);
    }
    return document;
}

export function load(file: string): Deployment {
    return parse(readFileSync(file, 'utf8'), file);
}

function isObject(value: unknown): value is object {
    return typeof value === 'object' && value !== null;
}
