import { messageOf } from '../error-message.ts'

/** What is needed of re2js, which the contract does not depend on. */
export interface LinearLibrary {
  compile(source: string): { test(text: string): boolean; programSize(): number }
  translateRegExp(source: string): string
}

/** A pattern that is ready to run. */
export interface LinearPattern {
  test(text: string): boolean
  /** How many steps a character of the text may take. */
  readonly size: number
}

/** How the patterns of schemas are run: `^(a+)+$` against forty characters would hold the platform's own engine for hours. */
export interface PatternEngine {
  /** undefined for what cannot run in linear time: looking around, referring back. */
  compile(source: string): LinearPattern | undefined
  /** Why a pattern is not one of JSON Schema, or cannot run in linear time. `runs` is false for one that is only shown. */
  findFault(source: string, runs?: boolean): string | undefined
}

/** ECMAScript's long names of categories; the library knows the short ones. */
const CATEGORIES: Readonly<Record<string, string>> = {
  Letter: 'L', Cased_Letter: 'LC', Uppercase_Letter: 'Lu', Lowercase_Letter: 'Ll', Titlecase_Letter: 'Lt', Modifier_Letter: 'Lm',
  Other_Letter: 'Lo', Mark: 'M', Combining_Mark: 'M', Nonspacing_Mark: 'Mn', Spacing_Mark: 'Mc', Enclosing_Mark: 'Me', Number: 'N',
  Decimal_Number: 'Nd', digit: 'Nd', Letter_Number: 'Nl', Other_Number: 'No', Punctuation: 'P', punct: 'P', Connector_Punctuation: 'Pc',
  Dash_Punctuation: 'Pd', Open_Punctuation: 'Ps', Close_Punctuation: 'Pe', Initial_Punctuation: 'Pi', Final_Punctuation: 'Pf',
  Other_Punctuation: 'Po', Symbol: 'S', Math_Symbol: 'Sm', Currency_Symbol: 'Sc', Modifier_Symbol: 'Sk', Other_Symbol: 'So',
  Separator: 'Z', Space_Separator: 'Zs', Line_Separator: 'Zl', Paragraph_Separator: 'Zp', Other: 'C', Control: 'Cc', cntrl: 'Cc',
  Format: 'Cf', Surrogate: 'Cs', Private_Use: 'Co',
}
const PROPERTY = /\\([pP])\{(?:(?:General_Category|gc|Script|sc)=)?([A-Za-z_]+)\}/g

/** A backslash before a backslash stays with it, so that only escapes are seen as such. */
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
      return unsupported === undefined ? undefined : `${unsupported} (patterns run in linear time, without looking around or referring back)`
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
