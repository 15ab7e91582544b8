import { readFile, writeFile } from 'node:fs/promises'
import type { Record } from './run/measure.ts'

const FILE = new URL('./recorded.json', import.meta.url)
const PAGE = new URL('../../../docs/explanation/security.md', import.meta.url)
const BEGIN = '<!-- corpus:begin -->'
const END = '<!-- corpus:end -->'

/** The results of the last complete run. */
export async function readRecord(): Promise<Record> {
  return JSON.parse(await readFile(FILE, 'utf8')) as Record
}

export async function writeRecord(record: Record): Promise<void> {
  await writeFile(
    FILE, `${JSON.stringify(record, null, 2).replace(/\[[\d\s,]+\]/g, (list) => list.replace(/\s+/g, ' '))}\n`,
  )
}

/** The part of the security page between the markers. Throws if they are missing. */
export async function readSection(): Promise<string> {
  const page = await readFile(PAGE, 'utf8')
  const { start, end } = marksIn(page)
  return page.slice(start, end)
}

/** Replaces that part only. */
export async function writeSection(text: string): Promise<void> {
  const page = await readFile(PAGE, 'utf8')
  const { start, end } = marksIn(page)
  await writeFile(PAGE, page.slice(0, start) + text + page.slice(end))
}

function marksIn(page: string): { readonly start: number; readonly end: number } {
  const [start, end] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (start < 0 || end < start) throw new Error(`docs/explanation/security.md has no ${BEGIN} before ${END}.`)
  return { start: start + BEGIN.length, end }
}
