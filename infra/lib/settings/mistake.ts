/** What is wrong with howk.yaml: where, what, and what to change. */
export interface Mistake {
    readonly path: string;
    readonly problem: string;
}

/** Every mistake of a file at once. */
export class Mistakes extends Error {
    readonly mistakes: readonly Mistake[];

    constructor(file: string, mistakes: readonly Mistake[]) {
        const lines = mistakes.map(({ path, problem }) => `  ${path}: ${problem}`);
        const noun = mistakes.length === 1 ? 'mistake' : 'mistakes';
        super(`${mistakes.length} ${noun} in ${file}:\n${lines.join('\n')}`);
        this.name = 'Mistakes';
        this.mistakes = mistakes;
    }
}
