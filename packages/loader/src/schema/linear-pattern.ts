import { messageOf } from '@bulkhead/contract/plain'
import { RE2JS } from 're2js'

/** What Ajv asks of a regular expression engine. */
interface Pattern {
  test(text: string): boolean
  toString(): string
}

const compile = (source: string) => RE2JS.compile(RE2JS.translateRegExp(source))

/**
 * For Ajv's `code.regExp`: a stranger's pattern in time linear in the text. `^(a+)+$` against forty characters would
 * otherwise hold the host for hours. Compiled when first used, since a schema that is only told to a model never runs.
 */
export const linearEngine = Object.assign((source: string): Pattern => {
  let engine: RE2JS | undefined
  return {
    test: (text) => (engine ??= compile(source)).test(text),
    // Ajv tells patterns apart by their text; two that print alike would be taken for one.
    toString: () => `linear ${JSON.stringify(source)}`,
  }
}, { code: 'linearEngine' })

/** Why a pattern cannot be used, or undefined. It must be valid JSON Schema, and linear where values are checked with it. */
export function findPatternFault(source: string, checksValues: boolean): string | undefined {
  const key = `${checksValues} ${source}`
  if (!faults.has(key)) {
    if (faults.size >= REMEMBERED) faults.clear()
    faults.set(key, judge(source, checksValues))
  }
  return faults.get(key)
}

/** The same few patterns stand in most schemas. */
const faults = new Map<string, string | undefined>()
const REMEMBERED = 1_000

function judge(source: string, checksValues: boolean): string | undefined {
  const invalid = thrownBy(() => new RegExp(source, 'u'))
  if (invalid !== undefined || !checksValues) return invalid
  const unsupported = thrownBy(() => compile(source))
  if (unsupported === undefined) return undefined
  return `${unsupported} (patterns run in linear time, without looking around or referring back)`
}

function thrownBy(work: () => unknown): string | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}
