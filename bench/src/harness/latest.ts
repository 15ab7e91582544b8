import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import type { Result } from './result.ts'

/** The newest result of each subject, by its name. */
export interface Latest {
  readonly subjects: Readonly<Record<string, Result>>
}

export function latestOf(results: Iterable<readonly [string, Result]>): Latest {
  return { subjects: Object.fromEntries([...results].toSorted(([a], [b]) => (a < b ? -1 : 1))) }
}

export function serialize(latest: Latest): string {
  return `${JSON.stringify(latest, (_, value: unknown) => (typeof value === 'number' ? significant(value) : value), 2)}\n`
}

/** Replaces these subjects' results and keeps the others'. The file is whole at every moment. */
export async function mergeLatest(file: string, results: ReadonlyMap<string, Result>): Promise<void> {
  const merged = latestOf(new Map([...(await readSubjects(file)), ...results]))
  const draft = `${file}.${process.pid}.draft`
  try {
    await writeFile(draft, serialize(merged))
    await rename(draft, file)
  } finally {
    await rm(draft, { force: true })
  }
}

async function readSubjects(file: string): Promise<[string, Result][]> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
  try {
    const { subjects } = JSON.parse(text) as Latest
    return Object.entries(subjects)
  } catch (error) {
    const message = `${file} does not hold benchmark results, so nothing was merged into it. Remove it or name another by --out.`
    throw new Error(message, { cause: error })
  }
}

/** Four digits: more would be noise, and would change at every run. */
function significant(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toPrecision(4))
}
