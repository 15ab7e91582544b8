import { re2js } from './late-libraries.ts'

let size = 0

/** Of all patterns so far: what each character of a text may cost. */
export const patternSize = (): number => size

/**
 * The engine behind `pattern` in a stranger's schema. The platform's own takes exponential time for `^(a+)+$` and would
 * let a manifest stop the host; this one is linear, and refuses what it cannot do (look-around, back references).
 */
export const linearRegExp = Object.assign(
  (pattern: string, flags: string) => {
    const { RE2JS } = re2js()
    const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern))
    size += compiled.programSize()
    return {
      test: (text: string): boolean => compiled.matcher(text).find(),
      // The validator files compiled patterns under this text: two that print alike would be taken for one.
      toString: (): string => `/${pattern}/${flags}`,
    }
  },
  { code: 'linearRegExp' },
)
