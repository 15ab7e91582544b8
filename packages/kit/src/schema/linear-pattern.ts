import { messageOf } from '../error-message.ts'
import { ecmaScriptPattern, linearPattern } from './pattern-syntax.ts'

/** The parts of re2js that are needed. The kit does not depend on it. */
export interface LinearLibrary {
  compile(source: string): { test(text: string): boolean; programSize(): number }
  translateRegExp(source: string): string
}

/** A compiled pattern. */
export interface LinearPattern {
  test(text: string): boolean
  /** The maximum number of steps per character. */
  readonly size: number
}

/**
 * Runs the patterns of schemas in linear time. `^(a+)+$` on forty characters would block the platform's engine for
 * hours.
 */
export interface PatternEngine {
  /** undefined for a pattern that cannot be enforced. */
  compile(source: string): LinearPattern | undefined
  /** Why a pattern cannot be enforced: it is invalid or too long, or cannot run in linear time. */
  findFault(source: string): string | undefined
}

/** `most`: the length of a pattern in characters. */
export function patternEngine(library: LinearLibrary, most: number): PatternEngine {
  const make = (source: string) => {
    if (source.length > most) throw new Error(`it has more than ${most} characters`)
    const strict = ecmaScriptPattern(source)
    try {
      return library.compile(library.translateRegExp(linearPattern(strict)))
    } catch (error) {
      throw new Error(
        `${messageOf(error)} (patterns run in linear time, without look-around and back references)`,
        { cause: error },
      )
    }
  }
  return {
    compile(source) {
      try {
        const made = make(source)
        return { size: made.programSize(), test: (text) => made.test(text) }
      } catch {
        return undefined
      }
    },
    findFault(source) {
      try {
        make(source)
        return undefined
      } catch (error) {
        return messageOf(error)
      }
    },
  }
}
