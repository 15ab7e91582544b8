import type { GlobMatch } from '@bulkhead/kit/glob'
import { BulkheadError } from '@bulkhead/contract'
import { compileGlob } from '@bulkhead/kit/glob'

const PATTERN_CHARS = 1_024
/** What all braces of a pattern together stand for. */
const ALTERNATIVES = 64

/**
 * A pattern of a tool over paths below a folder: `*` inside one name, `**` across folders, `{a,b}` either. Everything else
 * is literal, brackets and question marks too, because names have them. Throws InputInvalid for what cannot match.
 */
export function compileGlobPattern(pattern: string): (names: readonly string[]) => GlobMatch {
  const tests = alternativesOf(pattern).map((names) => compileGlob(names.join('/'), { below: false }))
  return (names) => {
    const matches = tests.map((test) => test(names))
    return { covers: matches.some(({ covers }) => covers), leads: matches.some(({ leads }) => leads) }
  }
}

/** The names of each path that the braces of a pattern stand for. Throws InputInvalid for what does not stay below its folder. */
export function alternativesOf(pattern: string): readonly (readonly string[])[] {
  if (pattern === '' || pattern.length > PATTERN_CHARS || pattern.includes('\0')) {
    throw new BulkheadError('InputInvalid', `The pattern is empty, longer than ${PATTERN_CHARS} characters, or has a NUL in it.`)
  }
  return expandBraces(pattern).map((alternative) => {
    const names = alternative.split('/').filter((name, index) => name !== '.' && (name !== '' || index === 0))
    if (names[0] === '' || names.includes('..')) {
      const why = 'must stay below its folder: neither "/" in front nor ".."'
      throw new BulkheadError('InputInvalid', `The pattern "${pattern}" ${why}.`)
    }
    return names
  })
}

/** Every text that the braces of a pattern stand for. Braces that do not close, or hold no comma, are literal. */
export function expandBraces(pattern: string): readonly string[] {
  const found = firstBraces(pattern)
  if (found === undefined) return [pattern]
  const { before, choices, after } = found
  const tails = expandBraces(after)
  const expanded = choices.flatMap(expandBraces).flatMap((choice) => tails.map((tail) => before + choice + tail))
  if (expanded.length > ALTERNATIVES) {
    throw new BulkheadError('InputInvalid', `The braces of the pattern stand for more than ${ALTERNATIVES} texts. Ask in parts.`)
  }
  return expanded
}

interface Braces {
  readonly before: string
  readonly choices: readonly string[]
  readonly after: string
}

function firstBraces(pattern: string): Braces | undefined {
  for (let open = pattern.indexOf('{'); open >= 0; open = pattern.indexOf('{', open + 1)) {
    const choices: string[] = []
    let depth = 0
    let from = open + 1
    for (let at = open + 1; at < pattern.length; at++) {
      const char = pattern[at]
      if (char === '{') depth++
      else if (char === '}' && depth > 0) depth--
      else if (depth === 0 && (char === ',' || char === '}')) {
        choices.push(pattern.slice(from, at))
        from = at + 1
        if (char === '}') break
      }
    }
    const closed = pattern[from - 1] === '}' && from > open + 1
    if (closed && choices.length > 1) return { before: pattern.slice(0, open), choices, after: pattern.slice(from) }
  }
  return undefined
}
