// settings.md, the reference that `howk serve --help-settings` prints: the keys of howk's own settings and what they allow, and
// the keys of the original that howk ignores.

import { readFileSync } from 'node:fs';

export interface Setting {
    readonly key: string;
    readonly variable: string;
    readonly preset: string;
    readonly allowed: string;
}

const text = readFileSync(new URL('../../settings.md', import.meta.url), 'utf8');
const [ofSettings = '', ofIgnored = ''] = text.split('\n## Ignored keys\n');

/** Every setting by its key, in the reference's order. */
export const reference: ReadonlyMap<string, Setting> = new Map(
    rows(ofSettings).map(([key = '', variable = '', preset = '', allowed = '']) => [key, { key, variable, preset, allowed }]),
);

/** Why howk ignores a key of the original, by the key. */
export const ignored: ReadonlyMap<string, string> = new Map(rows(ofIgnored).map(([key = '', , reason = '']) => [key, reason]));

/** The cells of a table's rows, without the headline. */
function rows(table: string): string[][] {
    const lines = table.split('\n').filter((line) => line.startsWith('| `'));
    return lines.map((line) =>
        line
            .slice('| '.length, -' |'.length)
            .split(' | ')
            .map((cell) => cell.replaceAll('`', '')),
    );
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A duration such as 500ms, 30s, 1h30m or 7d in milliseconds; undefined when it is none. */
export function milliseconds(text: string): number | undefined {
    if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(text)) {
        return undefined;
    }
    const parts = text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g);
    return [...parts].reduce((sum, [, count, unit]) => sum + Number(count) * (UNITS[unit ?? ''] ?? 0), 0);
}

/** Whether a value is what the reference allows, as far as it says so in numbers or names. */
export function isAllowed(setting: Setting, value: unknown): boolean {
    const shown = typeof value === 'string' ? value : JSON.stringify(value);
    const range = /^(a whole number|a number|a duration) between (\S+) and (\S+)$/.exec(setting.allowed);
    if (range) {
        const [, kind, low = '', high = ''] = range;
        const read = kind === 'a duration' ? milliseconds : number;
        const given = read(shown);
        const isWhole = kind !== 'a whole number' || Number.isInteger(given);
        return given !== undefined && isWhole && given >= (read(low) ?? 0) && given <= (read(high) ?? 0);
    }
    if (setting.allowed === 'true or false') {
        return shown === 'true' || shown === 'false';
    }
    const names = /^one of (.+)$/.exec(setting.allowed)?.[1]?.split(', ');
    return names?.includes(shown) ?? true;
}

function number(text: string): number | undefined {
    return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
}
