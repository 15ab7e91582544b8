import { messageOf } from '../error-message.ts'

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
  /** undefined for a pattern with look-around or back references, which cannot run in linear time. */
  compile(source: string): LinearPattern | undefined
  /** Why a pattern is invalid or cannot run in linear time. `runs` is false for a pattern that is only displayed. */
  findFault(source: string, runs?: boolean): string | undefined
}

/** ECMAScript's long category names. The library knows only the short ones. */
const CATEGORIES: Readonly<Record<string, string>> = {
  Letter: 'L', Cased_Letter: 'LC', Uppercase_Letter: 'Lu', Lowercase_Letter: 'Ll', Titlecase_Letter: 'Lt',
  Modifier_Letter: 'Lm', Other_Letter: 'Lo', Mark: 'M', Combining_Mark: 'M', Nonspacing_Mark: 'Mn',
  Spacing_Mark: 'Mc', Enclosing_Mark: 'Me', Number: 'N', Decimal_Number: 'Nd', digit: 'Nd', Letter_Number: 'Nl',
  Other_Number: 'No', Punctuation: 'P', punct: 'P', Connector_Punctuation: 'Pc', Dash_Punctuation: 'Pd',
  Open_Punctuation: 'Ps', Close_Punctuation: 'Pe', Initial_Punctuation: 'Pi', Final_Punctuation: 'Pf',
  Other_Punctuation: 'Po', Symbol: 'S', Math_Symbol: 'Sm', Currency_Symbol: 'Sc', Modifier_Symbol: 'Sk',
  Other_Symbol: 'So', Separator: 'Z', Space_Separator: 'Zs', Line_Separator: 'Zl', Paragraph_Separator: 'Zp',
  Other: 'C', Control: 'Cc', cntrl: 'Cc', Format: 'Cf', Surrogate: 'Cs', Private_Use: 'Co',
}
const PROPERTY = /\\([pP])\{(?:(?:General_Category|gc|Script|sc)=)?([A-Za-z_]+)\}/g

/** Skips escaped backslashes. */
const withShortNames = (source: string): string => source.replace(/\\\\|\\[pP]\{[^}]*\}/g, (found) =>
  found.replace(PROPERTY, (_, sign: string, name: string) => `\\${sign}{${CATEGORIES[name] ?? name}}`))

export function patternEngine(library: LinearLibrary): PatternEngine {
  const make = (source: string) => library.compile(library.translateRegExp(withShortNames(source)))
  return {
    compile(source) {
      try {
        const made = make(source)
        return { size: made.programSize(), test: (text) => made.test(text) }
      } catch {
        return undefined
      }
    },
    findFault(source, runs = true) {
      const invalid = thrownBy(() => new RegExp(source, 'u'))
      if (invalid !== undefined || !runs) return invalid
      const unsupported = thrownBy(() => make(source))
      if (unsupported === undefined) return undefined
      return `${unsupported} (patterns must run in linear time, without look-around and back references)`
    },
  }
}

function thrownBy(work: () => unknown): string | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}
