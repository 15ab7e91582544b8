import { re2js } from './late-libraries.ts'

/**
 * The engine behind `pattern` in a stranger's schema. The platform's own takes exponential time for `^(a+)+$` and would
 * let a manifest stop the host; this one is linear, and refuses what it cannot do (look-around, back references).
 */
export const linearRegExp = Object.assign(
  (pattern: string, flags: string) => {
    const { RE2JS } = re2js()
    const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern))
    return {
      test: (text: string): boolean => compiled.matcher(text).find(),
      // The validator files compiled patterns under this text: two that print alike would be taken for one.
      toString: (): string => `/${pattern}/${flags}`,
    }
  },
  { code: 'linearRegExp' },
)
