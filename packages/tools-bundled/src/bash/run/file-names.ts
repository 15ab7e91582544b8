import { ToolError, type FileReader } from '@bulkhead/contract'
import { matchRow } from '@bulkhead/kit/glob'
import type { PatternPart, Word } from '../parse/plan.ts'

type Lister = Pick<FileReader, 'list'>

const MAX_MATCHES = 10_000

/**
 * Expands a pattern as a shell does: sorted, hidden files only if the pattern starts with a dot, and the pattern itself
 * if nothing matches. Searches only folders that the tool may read.
 */
export async function expandPattern({ text, pattern }: Word, folder: string, fs: Lister): Promise<readonly string[]> {
  const segments = pattern === undefined ? [] : splitSegments(pattern)
  let found: readonly string[] = ['']
  for (const [index, segment] of segments.entries()) {
    const isLast = index === segments.length - 1
    found = (await Promise.all(found.map((at) => matches(at, segment, isLast, folder, fs)))).flat()
    if (found.length > MAX_MATCHES) {
      throw new ToolError(
        'InputInvalid', `The pattern ${text} matches more than ${MAX_MATCHES} files. Use a narrower pattern.`,
      )
    }
  }
  return found.length === 0 ? [text] : found
}

async function matches(
  at: string, segment: readonly PatternPart[], isLast: boolean, folder: string, fs: Lister,
): Promise<readonly string[]> {
  const literal = segment.every(({ kind }) => kind === 'text')
  const name = segment.map((part) => part.kind === 'text' ? part.text : '').join('')
  if (literal && (name === '' || !isLast)) return [`${at}${name}${isLast ? '' : '/'}`]
  const entries = await fs.list(`${folder}/${at}`).catch(() => [])
  return entries
    .filter((entry) => literal ? entry.name === name : matchName(segment, entry.name))
    .filter((entry) => isLast || entry.kind !== 'file')
    .map((entry) => `${at}${entry.name}${isLast ? '' : '/'}`)
    .toSorted((a, b) => a < b ? -1 : 1)
}

function splitSegments(pattern: readonly PatternPart[]): readonly (readonly PatternPart[])[] {
  const segments: PatternPart[][] = [[]]
  for (const part of pattern) {
    if (part.kind !== 'text') {
      segments.at(-1)!.push(part)
      continue
    }
    part.text.split('/').forEach((text, index) => {
      if (index > 0) segments.push([])
      if (text !== '') segments.at(-1)!.push({ kind: 'text', text })
    })
  }
  return segments
}

const STAR: PatternPart = { kind: 'star' }

/** Matches a file name against one segment of a pattern. */
function matchName(segment: readonly PatternPart[], name: string): boolean {
  const first = segment[0]
  if (name.startsWith('.') && !(first?.kind === 'text' && first.text.startsWith('.'))) return false
  const tokens = segment.flatMap((part): readonly PatternPart[] => {
    if (part.kind === 'text') return Array.from(part.text, (text) => ({ kind: 'text', text }))
    return [part.kind === 'star' ? STAR : part]
  })
  return matchRow(tokens, Array.from(name), STAR, matchChar)
}

function matchChar(token: PatternPart, char: string): boolean {
  if (token.kind === 'any') return true
  if (token.kind === 'text') return token.text === char
  return token.kind === 'set' && inSet(token.chars, char) !== token.negated
}

function inSet(chars: string, char: string): boolean {
  for (let index = 0; index < chars.length; index++) {
    const last = chars[index + 1] === '-' ? chars[index + 2] : undefined
    if (last === undefined ? chars[index] === char : chars[index]! <= char && char <= last) return true
    if (last !== undefined) index += 2
  }
  return false
}
