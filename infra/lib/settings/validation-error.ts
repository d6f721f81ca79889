/** What is wrong with howk.yaml: where, what, and what to change. */
export interface ValidationError {
    readonly path: string;
    readonly problem: string;
}

/** Every error of a file at once. */
export class ValidationErrors extends Error {
    readonly errors: readonly ValidationError[];

    constructor(file: string, errors: readonly ValidationError[]) {
        const lines = errors.map(({ path, problem }) => `  ${path}: ${problem}`);
        const noun = errors.length === 1 ? 'error' : 'errors';
        super(`${errors.length} ${noun} in ${file}:\n${lines.join('\n')}`);
        this.name = 'ValidationErrors';
        this.errors = errors;
    }
}
